// Preferences: how often each kind of change comes over each channel, quiet times, and what waits for the next digest.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type Preferences = Schemas['Preferences'];
export type Effective = Schemas['EffectivePreferences'];
export type Kind = Schemas['PreferenceRow'];
export type Cell = Schemas['PreferenceCell'];
export type Month = Schemas['PreferredMonth'];
export type ChannelMonth = Schemas['ChannelMonth'];
export type Digest = Schemas['NextDigest'];
export type Address = Schemas['OwnAddresses']['data'][number];
export type AddressChannel = Address['channel'];
export type Mute = Schemas['Mute'];
export type Stander = {
  user: { id: string; name?: string; displayName?: string };
  accepted: boolean;
  since: number;
};
export type Substitutes = { substitute: Stander | null; standsInFor: Stander[] };
export const channels = ['ActivityFeed', 'Email', 'Slack', 'MsTeams', 'GChat', 'Webhook', 'Push'] as const;
export type Channel = (typeof channels)[number];
export const addressChannels: readonly AddressChannel[] = ['Slack', 'MsTeams', 'GChat', 'Webhook'];

const of = (userId: string) => ({ params: { path: { user_id: userId } } });

export const preferencesOf = (userId: string) =>
  dataOf(api.GET('/api/v1/users/{user_id}/preferences', of(userId)));
export const effectiveOf = (userId: string) =>
  dataOf(api.GET('/api/v1/users/{user_id}/preferences/effective', of(userId)));
/** What a person prefers, and the tag by which the server knows whether it still is that. */
export type Tagged = { preferences: Preferences; etag: string };
type Answer = { data?: Preferences; response: Response };
const taggedOf = ({ data, response }: Answer): Tagged => ({
  preferences: data as Preferences,
  etag: response.headers.get('ETag') ?? '*',
});
export const taggedPreferencesOf = async (userId: string) =>
  taggedOf(await api.GET('/api/v1/users/{user_id}/preferences', of(userId)));
/** Replace what a person prefers as it was read; 412 where it was changed meanwhile, in another tab, say. */
export const putPreferences = async (userId: string, body: Preferences, etag: string) =>
  taggedOf(
    await api.PUT('/api/v1/users/{user_id}/preferences', {
      params: { path: { user_id: userId }, header: { 'if-match': etag } },
      body,
    }),
  );
export const digestsOf = async (userId: string) =>
  (await dataOf(api.GET('/api/v1/users/{user_id}/digest', of(userId)))).data;
/** Return what the preferences of now would have made of the last 30 days. */
export const monthOf = (userId: string) =>
  dataOf(api.GET('/api/v1/users/{user_id}/preferences/month', of(userId)));
export const healthSummaryOf = (userId: string) =>
  dataOf(api.GET('/api/v1/users/{user_id}/healthSummary', of(userId)));

export const mutesOf = async (userId: string) =>
  (await dataOf(api.GET('/api/v1/users/{user_id}/mutes', of(userId)))).data;
export const mute = (userId: string, body: Schemas['MuteRequest']) =>
  dataOf(api.PUT('/api/v1/users/{user_id}/mutes', { ...of(userId), body }));
export const unmute = (userId: string, aboutId: string) =>
  dataOf(
    api.DELETE('/api/v1/users/{user_id}/mutes/{about_id}', {
      params: { path: { user_id: userId, about_id: aboutId } },
    }),
  );

export const substitutesOf = async (userId: string) =>
  (await dataOf(api.GET('/api/v1/users/{user_id}/substitute', of(userId)))) as Substitutes;
export const askSubstitute = (userId: string, id: string) =>
  dataOf(api.PUT('/api/v1/users/{user_id}/substitute', { ...of(userId), body: { substitute: { id } } }));
export const endSubstitute = (userId: string) =>
  dataOf(api.DELETE('/api/v1/users/{user_id}/substitute', of(userId)));
/** Agree to stand in for a person, or decline. */
export async function standIn(userId: string, personId: string, agrees: boolean): Promise<void> {
  const params = { path: { user_id: userId, person_id: personId } };
  const path = '/api/v1/users/{user_id}/standsInFor/{person_id}' as const;
  await (agrees ? api.PUT(path, { params }) : api.DELETE(path, { params }));
}

const holder = (userId: string, channel: AddressChannel) => ({
  params: { path: { holder_id: userId, channel } },
});
export const addressesOf = async (userId: string) =>
  (await dataOf(api.GET('/api/v1/addresses/{holder_id}', { params: { path: { holder_id: userId } } }))).data;
export const putAddress = (userId: string, channel: AddressChannel, endpoint: string) =>
  dataOf(
    api.PUT('/api/v1/addresses/{holder_id}/{channel}', { ...holder(userId, channel), body: { endpoint } }),
  );
export const removeAddress = (userId: string, channel: AddressChannel) =>
  dataOf(api.DELETE('/api/v1/addresses/{holder_id}/{channel}', holder(userId, channel)));
export const sendCode = (userId: string, channel: AddressChannel) =>
  dataOf(api.POST('/api/v1/addresses/{holder_id}/{channel}/code', holder(userId, channel)));
export const verifyAddress = (userId: string, channel: AddressChannel, code: string) =>
  dataOf(
    api.POST('/api/v1/addresses/{holder_id}/{channel}/verify', {
      ...holder(userId, channel),
      body: { code },
    }),
  );
