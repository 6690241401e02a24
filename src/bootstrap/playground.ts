// Playground mode creates accounts with published secrets. These must not stay usable when the database is later started
// with a configuration file.
import type { BootstrapDeps } from './deps.ts'
import { playgroundBootstrap } from '../config/records/playground.ts'
import type { ClientRecord, UserRecord } from '../config/records/records.ts'
import type { Ledger } from './ledger.ts'
import { userKey } from './users.ts'

const KIND = 'playground'
const KEY = 'accounts'

/** Records that the zone has the playground's accounts. */
export async function markPlayground(zoneId: string, { store }: BootstrapDeps): Promise<void> {
  if ((await store.bootstrap.applied(zoneId, KIND, KEY)) === 'present') return
  await store.bootstrap.remember(zoneId, KIND, KEY, 'present')
}

/** Makes the start create deleted accounts again: it announces them, and there is no file to define them again. */
export async function restorePlayground(
  zoneId: string,
  { store, config, ledger }: BootstrapDeps & { readonly ledger: Ledger },
): Promise<void> {
  for (const { client_id: key } of config.bootstrap.clients) {
    if (!(await store.clients.find(zoneId, key))) await ledger.forget({ zoneId, kind: 'client', key })
  }
  for (const user of config.bootstrap.users) {
    const key = userKey(user, config.service)
    if (await store.users.findByName(zoneId, config.service, user.userName)) continue
    await ledger.forget({ zoneId, kind: 'user', key })
  }
}

/**
 * Removes the public secrets from the accounts of an earlier playground, unless the configuration defines the account
 * or the secret has been changed. The next playground start on this database restores them.
 */
export async function disarmPlayground(
  zoneId: string,
  deps: BootstrapDeps & { readonly ledger: Ledger },
): Promise<void> {
  const { store, config, log } = deps
  if ((await store.bootstrap.applied(zoneId, KIND, KEY)) !== 'present') return
  const { clients, users } = playgroundBootstrap(config.service, config.compatibility)
  const ownClients = new Set(config.bootstrap.clients.map(client => client.client_id))
  const ownUsers = new Set(config.bootstrap.users.map(user => userKey(user, config.service)))
  for (const client of clients) {
    if (!ownClients.has(client.client_id)) await disarmClient(zoneId, client, deps)
  }
  for (const user of users) {
    if (!ownUsers.has(userKey(user, config.service))) await disarmUser(zoneId, user, deps)
  }
  await store.bootstrap.remember(zoneId, KIND, KEY, 'disarmed')
  log('this database was used without a configuration file: the public secrets of those accounts were removed')
}

async function disarmClient(
  zoneId: string,
  { client_id: clientId, client_secret: publicSecret }: ClientRecord,
  { store, passwords, clock, ledger }: BootstrapDeps & { readonly ledger: Ledger },
): Promise<void> {
  const client = await store.clients.find(zoneId, clientId)
  if (client !== undefined) {
    const isPublic = await Promise.all(client.secrets.map(({ hash }) => passwords.verify(hash, String(publicSecret))))
    const secrets = client.secrets.filter((_secret, index) => isPublic[index] !== true)
    await store.clients.update(zoneId, { ...client, secrets, updatedAt: clock.now() })
  }
  await ledger.forget({ zoneId, kind: 'client', key: clientId })
}

async function disarmUser(
  zoneId: string,
  record: UserRecord,
  { store, passwords, clock, random, config, ledger }: BootstrapDeps & { readonly ledger: Ledger },
): Promise<void> {
  const user = await store.users.findByName(zoneId, config.service, record.userName)
  if (user?.passwordHash !== undefined && (await passwords.verify(user.passwordHash, record.password ?? ''))) {
    const { passwordHash: _public, ...rest } = user
    const changed = { active: false, passwordRevision: random.urlSafe(22), updatedAt: clock.now() }
    await store.users.update(zoneId, { ...rest, ...changed, version: user.version + 1 })
  }
  await ledger.forget({ zoneId, kind: 'user', key: userKey(record, config.service) })
}
