// Access of a person: sessions in browsers, personal tokens, and the password.
import { api, dataOf } from './client';
import type { components } from './schema';

type Schemas = components['schemas'];
export type BrowserSession = Schemas['BrowserSession'];
export type PersonalToken = Schemas['PersonalAccessToken'];
export type Expiry = Schemas['CreatePersonalToken']['JWTTokenExpiry'];

export const sessions = async () => (await dataOf(api.GET('/api/v1/auth/sessions'))).data;
export const endSession = (id: string) =>
  dataOf(api.DELETE('/api/v1/auth/sessions/{session_id}', { params: { path: { session_id: id } } }));
export const tokens = async () => (await dataOf(api.GET('/api/v1/users/security/token'))).data;
/** Create a personal token; its text is in the answer, and never shown again. */
export const createToken = (tokenName: string, expiry: Expiry) =>
  dataOf(api.PUT('/api/v1/users/security/token', { body: { tokenName, JWTTokenExpiry: expiry } }));
export const revokeToken = (id: string) =>
  dataOf(api.PUT('/api/v1/users/security/token/revoke', { body: { tokenIds: [id] } }));
export const changePassword = (oldPassword: string, newPassword: string) =>
  dataOf(
    api.PUT('/api/v1/users/changePassword', {
      body: { requestType: 'SELF', oldPassword, newPassword, confirmPassword: newPassword },
    }),
  );
