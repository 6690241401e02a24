import type { Client } from '../../src/model/clients/client.ts'

/** A client of the default zone without rights, with the given members. */
export const bareClient = (members: Partial<Client> = {}): Client => ({
  zoneId: 'svc',
  clientId: 'app',
  secrets: [],
  authorizedGrantTypes: [],
  redirectUris: [],
  scope: [],
  authorities: [],
  autoapprove: [],
  requiredUserGroups: [],
  additional: {},
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...members,
})
