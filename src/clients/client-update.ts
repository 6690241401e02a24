// Merges updates with stored clients.
import { isDeepStrictEqual } from 'node:util'
import type { JsonRecord } from '../base/json.ts'
import type { Client } from '../model/clients/client.ts'
import { namesSameSubject } from '../model/clients/mutual-tls.ts'
import { clientFields } from '../records/client.ts'
import { mergeUpdate } from '../records/record.ts'
import { clientToJson } from './client-json.ts'
import type { ClientDefinition } from './client-json.ts'

/**
 * Merges an update with the client: absent and empty members keep their value, attributes are added or replaced, and
 * null removes one. The result still has to be read by `clientFromJson`.
 */
export const mergedJson = (existing: Client, update: JsonRecord): JsonRecord =>
  mergeUpdate(clientFields, clientToJson(existing), update)

/** Whether it has keys; null counts as absent. */
export const hasKeys = ({ jwks, jwksUri }: Pick<Client, 'jwks' | 'jwksUri'>): boolean =>
  jwks !== undefined || jwksUri !== undefined

/** Whether an update changes keys, `jwt_creds` or the subject of the certificate: like secrets, these are credentials. */
export const changesKeys = (existing: Client, definition: ClientDefinition): boolean =>
  hasKeys(definition) ||
  !isDeepStrictEqual(definition.jwtCreds ?? existing.jwtCreds ?? [], existing.jwtCreds ?? []) ||
  !namesSameSubject(existing, definition)

/** Applies an update to the client; keeps secrets, read-only members and, unless it has new ones, keys and `jwt_creds`. */
export function updatedClient(existing: Client, definition: ClientDefinition, now: Date): Client {
  const { zoneId, secrets, registration, incarnation, createdWith, createdAt } = existing
  const { jwks, jwksUri } = hasKeys(definition) ? definition : existing
  const { jwtCreds: sentCreds, ...others } = definition
  const jwtCreds = sentCreds ?? existing.jwtCreds ?? []
  return {
    ...others,
    ...(jwtCreds.length > 0 && { jwtCreds }),
    zoneId,
    secrets,
    ...(jwks !== undefined && { jwks }),
    ...(jwksUri !== undefined && { jwksUri }),
    ...(registration !== undefined && { registration }),
    ...(incarnation !== undefined && { incarnation }),
    ...(createdWith !== undefined && { createdWith }),
    createdAt,
    updatedAt: now,
  }
}
