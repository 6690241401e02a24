// What an update makes of a client that is there: what stays, what is laid over it, and what nobody may send.
import type { JsonRecord } from '../base/json.ts'
import type { ClientDefinition } from './client-json.ts'
import { words } from './client-reading.ts'
import { clientToJson } from './client-to-json.ts'
import type { Client } from './client.ts'

/** Lists that an update leaves as they are when it gives nothing for them: they cannot be emptied. */
const LISTS = ['authorities', 'authorized_grant_types', 'redirect_uri', 'scope', 'autoapprove']
/** Numbers that it leaves as they are when it gives none. */
const NUMBERS = ['access_token_validity', 'refresh_token_validity']

/**
 * The record that an update of the client means (§4.4): what is absent or empty keeps its value, attributes are laid over
 * the ones that are there, and null removes one. Still to be read by `clientFromJson`.
 */
export function mergedJson(existing: Client, update: JsonRecord): JsonRecord {
  const stored = clientToJson(existing)
  const merged: Record<string, unknown> = { ...stored, ...update }
  for (const key of NUMBERS) merged[key] = update[key] ?? stored[key]
  for (const key of LISTS) if (isEmpty(update[key], key)) merged[key] = stored[key]
  return merged
}

/** `false` is an empty list of what is approved, and no list of anything else. */
const isEmpty = (value: unknown, key: string): boolean =>
  (value ?? undefined) === undefined ||
  (key === 'autoapprove' && value === false) ||
  ((typeof value === 'string' || Array.isArray(value)) &&
    [value].flat().every(item => typeof item === 'string' && words(item).length === 0))

/** The client with what an update read; its secrets, keys and everything that only the server says stay. */
export function updatedClient(existing: Client, definition: ClientDefinition, now: Date): Client {
  const { zoneId, secrets, jwks, jwksUri, incarnation, createdAt } = existing
  const { createdwith } = existing.additional
  return {
    ...definition,
    zoneId,
    secrets,
    ...(jwks !== undefined && { jwks }),
    ...(jwksUri !== undefined && { jwksUri }),
    ...(incarnation !== undefined && { incarnation }),
    additional: { ...definition.additional, ...(createdwith !== undefined && { createdwith }) },
    createdAt,
    updatedAt: now,
  }
}
