// `POST /oauth/clients/tx/modify`: each entry names what is done to its client.
import type { FastifyRequest } from 'fastify'
import { memberOf } from '../../base/json.ts'
import { looksSecret } from '../../base/secret-names.ts'
import type { JsonRecord } from '../../base/json.ts'
import { deletion, update } from '../../clients/changes.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import type { ClientSecret } from '../../model/clients/client.ts'
import type { StoredClient } from '../../store/store.ts'
import { requesterOf } from '../../web/requests/requester.ts'
import type { Entry, EntryResult } from './batch-entries.ts'
import { clientToJson, invalidClient } from './record.ts'
import { textOf } from './secret.ts'
import type { ClientWriter } from './writer.ts'
import type { AdminDeps } from '../deps.ts'

const ACTIONS = ['add', 'update', 'update,secret', 'secret', 'delete'] as const
type Action = (typeof ACTIONS)[number]

/** The action of an entry. Throws for any other. */
export function actionOf(json: JsonRecord): Action {
  const action = ACTIONS.find(each => each === memberOf(json, 'action'))
  if (!action) throw invalidClient('Invalid action.')
  return action
}

/** An entry with its action; `existing` is absent for a new client. */
interface Modification extends Entry {
  readonly action: Action
  readonly existing?: StoredClient
}

/** Validates an entry. Returns the slow part, which runs once all entries are valid. */
export function prepareModification(
  request: FastifyRequest,
  { json, action, existing }: Modification,
  { writer, deps }: { readonly writer: ClientWriter; readonly deps: AdminDeps },
): () => Promise<EntryResult> {
  if (action === 'add' || !existing) {
    const draft = writer.readNew(request, json)
    return async () => {
      const write = await writer.create(request, draft)
      return { write, answer: { ...clientToJson(write.client), action } }
    }
  }
  const before = { ...clientToJson(existing.client), action }
  switch (action) {
    case 'delete':
      return async () => ({ write: deletion(existing), answer: { ...before, approvals_deleted: true } })
    case 'update': {
      const client = writer.readUpdate(request, existing.client, json, { replace: true })
      return async () => ({ write: update(existing, client), answer: before })
    }
    case 'update,secret': {
      const secret = secretOf(json)
      const client = writer.readUpdate(request, existing.client, json, { replace: true })
      return async () => {
        const secrets = await replacedSecrets(request, { existing, secret }, deps)
        const events = ['ClientUpdateSuccess', 'SecretChangeSuccess'] as const
        const write = secrets
          ? update(existing, { ...client, secrets }, { events, forgetApprovals: true })
          : update(existing, client)
        return { write, answer: { ...before, approvals_deleted: secrets !== undefined } }
      }
    }
    case 'secret': {
      const secret = secretOf(json)
      return async () => {
        const secrets = await replacedSecrets(request, { existing, secret }, deps)
        const options = { events: ['SecretChangeSuccess'], forgetApprovals: true } as const
        const write = secrets && update(existing, { ...existing.client, secrets }, options)
        return { write, answer: { ...withoutSecrets(json), approvals_deleted: secrets !== undefined } }
      }
    }
  }
}

/** The new secrets; undefined if the given one is already valid, in which case nothing changes. */
async function replacedSecrets(
  request: FastifyRequest,
  { existing, secret }: { readonly existing: StoredClient; readonly secret: string },
  deps: AdminDeps,
): Promise<readonly ClientSecret[] | undefined> {
  const requester = requesterOf(request)
  const { clientSecrets } = deps
  if (await isSecretOf(existing.client.secrets, secret, { clientSecrets, requester })) return undefined
  return [await newSecret(secret, requester, deps)]
}

function secretOf(json: JsonRecord): string {
  const secret = textOf(json, 'client_secret')
  if (memberOf(json, 'secondary_client_secret') !== undefined) {
    throw invalidClient('secondary_client_secret is not allowed here')
  }
  if (secret === undefined) throw invalidClient('A new secret must be provided.')
  return secret
}

const KEYS = new Set(['jwks', 'client_jwt_config'])

/** What was sent without keys, and without the old secret, which other endpoints take. */
const withoutSecrets = (json: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(json).filter(([key, value]) => !KEYS.has(key) && !looksSecret(key, value)))
