import { INCARNATION_LENGTH, newClient } from '../clients/changes.ts'
import { newSecret } from '../clients/secrets.ts'
import type { ClientRecord } from '../config/records/records.ts'
import type { ClientRules } from '../clients/client-rules.ts'
import { clientFromJson } from '../clients/client-json.ts'
import { behaviourOf } from '../model/compatibility.ts'
import { takeHomePage } from '../model/clients/client-metadata.ts'
import type { ClientDescription } from '../model/clients/client-metadata.ts'
import type { Client, ClientSecret } from '../model/clients/client.ts'
import { ChangedMeanwhile } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import type { BootstrapDeps } from './deps.ts'
import { upsert } from './ledger.ts'

/** The ledger entry that says which of a client's secrets came from the configuration. */
const SECRET_SOURCE = 'client-secret'
/** Their revisions follow; alone, as earlier versions wrote it, it stands for all secrets of the client. */
const CONFIGURED = 'configuration'

/**
 * Writes the client as the configuration defines it. A secret that it has already keeps its revision, and with it the tokens
 * that were issued under it; every other one is removed. Without a secret in the configuration, secrets set by the API are kept
 * and those set by an earlier configuration are removed; so are those of a client that was there before the configuration named
 * it, if it had fewer rights: whoever made it would get the others.
 */
export async function applyClient(
  zoneId: string,
  record: ClientRecord,
  { store, passwords, clock, random, config, rules }: BootstrapDeps & { readonly rules: ClientRules },
): Promise<void> {
  const { rest, shown } = takeHomePage(record)
  const { definition, secrets } = clientFromJson(rest, rules)
  const { clientId } = definition
  const hashing = { clientSecrets: passwords, random }
  let described = shown
  let configured: readonly ClientSecret[] = []

  async function secretsAfter(before: Client): Promise<readonly ClientSecret[]> {
    const existing = before.secrets
    if (secrets.length === 0) {
      const source = await store.bootstrap.applied(zoneId, SECRET_SOURCE, clientId)
      const isFirst = (await store.bootstrap.applied(zoneId, 'client', clientId)) === undefined
      if (isFirst && hasMoreRights(definition, before)) return []
      return existing.filter(secret => !isConfigured(secret, source))
    }
    configured = await Promise.all(
      secrets.map(async secret => {
        const matches = await Promise.all(existing.map(({ hash }) => passwords.verify(hash, secret)))
        return existing[matches.indexOf(true)] ?? newSecret(secret, undefined, hashing)
      }),
    )
    return configured
  }

  await upsert({
    find: () => store.clients.find(zoneId, clientId),
    async insert() {
      const made = await newClient({ definition, secrets }, { zoneId }, { ...hashing, clock })
      await store.clients.insert(zoneId, made)
      configured = made.secrets
      // UAA: the configuration shows no client that does not ask for it. See docs/compatibility.md, C13.
      if (!behaviourOf(config.compatibility).describedClientsOnly) described ??= NOT_SHOWN
    },
    async update(existing) {
      const { tokenSalt, createdAt } = existing
      // Another salt than that of the client would make tokens valid again that this one has revoked.
      const isRevoked = definition.tokenSalt !== undefined && definition.tokenSalt !== tokenSalt
      const incarnation = isRevoked ? random.urlSafe(INCARNATION_LENGTH) : existing.incarnation
      const client = {
        ...(tokenSalt !== undefined && { tokenSalt }),
        ...definition,
        zoneId,
        secrets: await secretsAfter(existing),
        ...(incarnation !== undefined && { incarnation }),
        createdAt,
        updatedAt: clock.now(),
      }
      await store.clients.update(zoneId, client)
    },
  })
  if (described) await describeAs(zoneId, clientId, described, store)
  await store.bootstrap.remember(zoneId, SECRET_SOURCE, clientId, sourceOf(configured))
}

/** What the ledger keeps of the secrets that the configuration has. */
const sourceOf = (configured: readonly ClientSecret[]): string =>
  configured.length === 0 ? 'elsewhere' : [CONFIGURED, ...configured.map(({ revision }) => revision)].join(' ')

function isConfigured({ revision }: ClientSecret, source = ''): boolean {
  const [origin, ...revisions] = source.split(' ')
  return origin === CONFIGURED && (revisions.length === 0 || revisions.includes(revision))
}

const NOT_SHOWN: ClientDescription = { showOnHomePage: false, appIcon: '' }

type Rights = Pick<Client, 'scope' | 'authorities'>

const hasMoreRights = (after: Rights, before: Rights): boolean =>
  after.scope.some(name => !before.scope.includes(name)) ||
  after.authorities.some(name => !before.authorities.includes(name))

/** A client without display metadata in the configuration keeps what was set through the API. */
async function describeAs(
  zoneId: string,
  clientId: string,
  description: ClientDescription,
  { clients }: Pick<Store, 'clients'>,
): Promise<void> {
  const existing = await clients.findForChange(zoneId, clientId)
  if (!existing) return // deleted by another process
  try {
    await clients.apply(zoneId, [{ kind: 'describe', clientId, description, revision: existing.revision }])
  } catch (error) {
    // Another process is applying the same configuration: retry.
    if (error instanceof ChangedMeanwhile) return describeAs(zoneId, clientId, description, { clients })
    throw error
  }
}
