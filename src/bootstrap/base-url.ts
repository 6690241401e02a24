// Two servers with different base URLs on one database refuse each other's tokens, and so does one whose base URL has changed.
import { isLoopbackHost } from '../base/loopback.ts'
import type { BootstrapDeps } from './deps.ts'

const KIND = 'server'
const KEY = 'base_url'

/** Warns if the last start with this database had another base URL. One on loopback is not recorded: its port often changes. */
export async function compareBaseUrl(
  zoneId: string,
  { store, config: { baseUrl }, warn }: Pick<BootstrapDeps, 'store' | 'config' | 'warn'>,
): Promise<void> {
  if (isLoopbackHost(new URL(baseUrl).hostname)) return
  const before = await store.bootstrap.applied(zoneId, KIND, KEY)
  if (before === baseUrl) return
  await store.bootstrap.remember(zoneId, KIND, KEY, baseUrl)
  if (before !== undefined)
    warn(`base_url is ${baseUrl}, and was ${before} at the last start with this database: ${WHY}`)
}

const WHY = 'each refuses tokens that name the other, so servers that share a database need the same base_url'
