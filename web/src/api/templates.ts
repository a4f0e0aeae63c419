// Notification templates: their texts, how a message would look by them, and their helpers.
import { api, dataOf } from './client';
import type { components } from './schema';

export type Template = components['schemas']['NotificationTemplate'];
export type Rendering = {
  validation: { isValid: boolean; subjectError?: string | null; bodyError?: string | null };
  render?: { subject: string; body: string };
  message?: Record<string, unknown>;
};
export type RenderChannel = 'Email' | 'Slack' | 'MsTeams' | 'GChat';

const MOST = 100;

export const list = async (): Promise<Template[]> => {
  const query = { limit: MOST };
  const page = await dataOf(api.GET('/api/v1/notificationTemplates', { params: { query } }));
  return (page as unknown as { data: Template[] }).data;
};

/** Return a template as a channel shows it, of a made-up event about a type of asset. */
export const render = (
  texts: { templateSubject: string; templateBody: string },
  channel: RenderChannel,
): Promise<Rendering> =>
  dataOf(
    api.POST('/api/v1/notificationTemplates/render', {
      body: { ...texts, channel, resource: 'table', eventType: 'entityUpdated' },
    }),
  ) as Promise<Rendering>;

export const put = (template: {
  name: string;
  templateSubject: string;
  templateBody: string;
  displayName?: string;
  description?: string;
}): Promise<Template> =>
  dataOf(api.PUT('/api/v1/notificationTemplates', { body: template })) as Promise<Template>;

export const reset = (id: string) =>
  api.PUT('/api/v1/notificationTemplates/{template_id}/reset', { params: { path: { template_id: id } } });
