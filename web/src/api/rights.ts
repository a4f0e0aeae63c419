// What a person may do with all entities of a type; an entity may say more of itself.
import { read } from './collections';

type Rights = { permissions: { operation: string; access: string }[] };

/** Return the query for the rights of this person on a type; the answer says whether an operation is allowed on all. */
export const rightsOn = (type: string) => ({
  queryKey: ['permissions', type],
  queryFn: async () => {
    const { permissions } = await read<Rights>(`permissions/${type}`);
    return new Set(permissions.filter(({ access }) => access === 'allow').map(({ operation }) => operation));
  },
  retry: false,
  staleTime: 60_000,
});
