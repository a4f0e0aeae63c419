// Conversations, tasks and announcements about an asset.
import { api, dataOf } from './client';
import type { components } from './schema';
import type { Reference } from '../words/references';

export type Thread = components['schemas']['Thread'];
const PAGE = 20;

/** Return a page of the threads about an asset and its parts, last changed first. */
export const readThreads = (type: string, fqn: string, after = '') =>
  dataOf(
    api.GET('/api/v1/feed', {
      params: {
        query: { entityLink: `<#E::${type}::${fqn}>`, limit: PAGE, ...(after ? { after } : {}) } as never,
      },
    }),
  ) as Promise<{ data: Thread[]; paging: { after?: string; total?: number } }>;

/** Return how much is open about an asset and its parts: conversations, tasks that are not done, announcements. */
export async function countThreads(type: string, fqn: string): Promise<number> {
  const query = { entityLink: `<#E::${type}::${fqn}>` } as never;
  const counts = await dataOf(api.GET('/api/v1/feed/count', { params: { query } }));
  return (counts as unknown as Record<string, number>[]).reduce(
    (sum, each) =>
      sum +
      (each.conversationCount ?? 0) +
      (each.openTaskCount ?? 0) +
      (each.activeAnnouncementCount ?? 0) +
      (each.inactiveAnnouncementCount ?? 0),
    0,
  );
}

/** Return all posts of a thread, oldest first. */
export const readPosts = async (id: string) =>
  (await dataOf(api.GET('/api/v1/feed/{thread_id}/posts', { params: { path: { thread_id: id } } }))).data;

type Start = { about: string; message: string };

/** Start a conversation. */
export const converse = (start: Start) =>
  dataOf(api.POST('/api/v1/feed', { body: { ...start, type: 'Conversation' } }));

export type Request = 'RequestDescription' | 'RequestTag';

/** Ask people for a description or for tags; what one proposes stands in it already. */
export const requestOf = (
  start: Start,
  assignees: readonly Reference[],
  { type, suggestion = '' }: { type: Request; suggestion?: string },
) =>
  dataOf(
    api.POST('/api/v1/feed', {
      body: {
        ...start,
        type: 'Task',
        taskDetails: {
          type,
          ...(suggestion ? { suggestion } : {}),
          assignees: assignees.map(({ id, type: kind }) => ({ id, type: kind })),
        },
      } as never,
    }),
  );

/** Announce something for a period, in epoch milliseconds. */
export const announce = (
  entityLink: string,
  displayName: string,
  description: string,
  period: [number, number],
) =>
  dataOf(
    api.POST('/api/v1/announcements', {
      body: { entityLink, displayName, description, startTime: period[0], endTime: period[1] },
    }),
  );

/** Reply to a thread. */
export const reply = (id: string, message: string) =>
  dataOf(
    api.POST('/api/v1/feed/{thread_id}/posts', {
      params: { path: { thread_id: id } },
      body: { message } as never,
    }),
  );

/** Resolve a task: its value is written into the asset. */
export const resolveTask = (number: number, newValue: string) =>
  dataOf(
    api.PUT('/api/v1/feed/tasks/{number}/resolve', { params: { path: { number } }, body: { newValue } }),
  );

/** Close a task without a change. */
export const closeTask = (number: number, comment: string) =>
  dataOf(
    api.PUT('/api/v1/feed/tasks/{number}/close', {
      params: { path: { number } },
      body: { comment } as never,
    }),
  );

const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };
const patchThread = (id: string, body: unknown) =>
  dataOf(
    api.PATCH('/api/v1/feed/{thread_id}', {
      params: { path: { thread_id: id } },
      body: body as never,
      headers: JSON_PATCH,
    }),
  );

/** Mark a conversation as resolved, or not. */
export const setResolved = (id: string, resolved: boolean) =>
  patchThread(id, [{ op: 'replace', path: '/resolved', value: resolved }]);

/** Change the text and the period of an announcement. */
export const changeAnnouncement = (id: string, description: string, [startTime, endTime]: [number, number]) =>
  patchThread(id, [
    { op: 'add', path: '/announcement/description', value: description },
    { op: 'add', path: '/announcement/startTime', value: startTime },
    { op: 'add', path: '/announcement/endTime', value: endTime },
  ]);

/** Delete a thread with its posts. */
export const deleteThread = (id: string) =>
  dataOf(api.DELETE('/api/v1/feed/{thread_id}', { params: { path: { thread_id: id } } }));

export type Reaction = { reactionType: string; user: { id: string } };
export const reactions = { thumbsUp: '👍', heart: '❤️', hooray: '🎉', eyes: '👀', confused: '😕' } as const;

/** Add one's own reaction to a thread or a post of it, or take it back. */
export function react(
  place: { thread: string; post?: string | undefined },
  list: readonly Reaction[],
  kind: string,
  userId: string,
) {
  const at = list.findIndex(({ reactionType, user }) => reactionType === kind && user.id === userId);
  const value = { reactionType: kind, user: { id: userId, type: 'user' } };
  const body = [
    at < 0 ? { op: 'add', path: '/reactions/-', value } : { op: 'remove', path: `/reactions/${at}` },
  ];
  if (!place.post) return patchThread(place.thread, body);
  return dataOf(
    api.PATCH('/api/v1/feed/{thread_id}/posts/{post_id}', {
      params: { path: { thread_id: place.thread, post_id: place.post } },
      body: body as never,
      headers: JSON_PATCH,
    }),
  );
}
