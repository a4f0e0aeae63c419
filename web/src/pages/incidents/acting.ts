// Acts on incidents: what was done is said, refusals too; what others do meanwhile is seen within seconds.
import type { Query, QueryClient } from '@tanstack/svelte-query';
import { readEntity, readPermissions } from '../../api/assets';
import { incidentOf, type Incident, type IncidentDetails } from '../../api/incidents';
import { session } from '../../api/session.svelte';
import { toasts } from '../../app/toasts.svelte';
import { tableOfLink } from '../../words/incidents';
import type { Reference } from '../../words/references';

/** Do something and say it, if there is something to say; resolves to why not, or null. */
export type Act = (doing: () => Promise<unknown>, said: string) => Promise<string | null>;

/** Return how one acts on incidents. */
export const actingOf =
  (client: QueryClient): Act =>
  async (doing, said) => {
    try {
      await doing();
      if (said) toasts.say(said);
      return null;
    } catch (refusal) {
      if (said) toasts.say((refusal as Error).message);
      return (refusal as Error).message;
    } finally {
      const keys = [['incidents'], ['inbox'], ['audience'], ['waiting']];
      await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
    }
  };

/** Return the query of whether one may act on an incident: its assignees may, who may edit what it is of, and its table. */
export function mayActOf(incident: Incident | undefined) {
  const assignee = incident?.assignee;
  const isLed = !!incident && 'mergedInto' in incident && !!incident.mergedInto;
  const isAssignee = assignee?.id === session.userId || assignee?.type === 'team' || isLed; // of teams the server knows
  return {
    queryKey: ['permissions', incident?.entity.type, incident?.entity.id, 'incident', isAssignee],
    queryFn: async (): Promise<boolean> =>
      isAssignee || (await mayEdit(incident!.entity)) || mayEditTable(incident!.entity),
    enabled: incident !== undefined,
    retry: false,
    staleTime: 60_000,
  };
}

async function mayEdit({ type, id }: { type: string; id: string }): Promise<boolean> {
  const operations = await readPermissions(type, id);
  return operations.has('EditAll') || operations.has('EditTests');
}
async function mayEditTable({ type, fullyQualifiedName }: Reference): Promise<boolean> {
  if (type !== 'testCase' || !fullyQualifiedName) return false;
  const test = await readEntity(type, fullyQualifiedName);
  const table = tableOfLink(String(test.entityLink ?? ''));
  if (table?.type !== 'table') return false;
  const { id } = await readEntity('table', table.fullyQualifiedName);
  return mayEdit({ type: 'table', id });
}

const LOOK_EVERY_MS = 4_000;

/** Return the query of an incident that is looked at: while it lasts it is read again and again, with its inbox. */
export function watchedOf(client: QueryClient, number: string) {
  const queryKey = ['incidents', 'one', number];
  return {
    queryKey,
    queryFn: async (): Promise<IncidentDetails> => {
      const before = client.getQueryData<IncidentDetails>(queryKey);
      const now = await incidentOf(number);
      if (before && before.updatedAt !== now.updatedAt)
        void client.invalidateQueries({ queryKey: ['inbox'] });
      return now;
    },
    staleTime: 0,
    refetchInterval: (query: Query<IncidentDetails>) =>
      query.state.data?.status === 'resolved' || query.state.error ? (false as const) : LOOK_EVERY_MS,
  };
}
