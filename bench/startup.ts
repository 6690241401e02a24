// Measures time to ready and idle memory, one server at a time.
import { setTimeout as delay } from 'node:timers/promises'
import type { Accounts } from './accounts.ts'
import { residentBytes } from './processes.ts'
import type { Processes } from './processes.ts'
import { createHome, startByNpm, startHello, startLatchkey, startPeer } from './servers.ts'
import type { Server } from './servers.ts'

const IDLE_SECONDS = 5

/** One way to start one server. */
export interface Startup {
  readonly how: string
  /** Milliseconds until ready, for the first start (Latchkey: with an empty database) and the later ones. */
  readonly first: number
  readonly later: readonly number[]
  /** Resident bytes of the listening process, five seconds after it was ready; undefined without /proc. */
  readonly idleBytes: number | undefined
}

/** The name of the row that the bars use. */
export const NPM_START = 'Latchkey, npm start'

/** Starts each server once, then `again` times. */
export async function measureStartups(processes: Processes, accounts: Accounts, again: number): Promise<Startup[]> {
  const npmHome = createHome(processes, 'startup-npm', 'RS256')
  const home = createHome(processes, 'startup', 'RS256')
  const ways: readonly (readonly [string, () => Promise<Server>])[] = [
    [NPM_START, () => startByNpm(processes, npmHome)],
    ['Latchkey, node bin/latchkey.cjs', () => startLatchkey(processes, accounts, home)],
    ['oidc-provider', () => startPeer(processes, accounts)],
    ['hello', () => startHello(processes)],
  ]
  const startups: Startup[] = []
  for (const [how, start] of ways) startups.push(await measureStartup(how, start, again))
  return startups
}

async function measureStartup(how: string, start: () => Promise<Server>, again: number): Promise<Startup> {
  const first = await start()
  await first.running.stop()
  const later: number[] = []
  let idleBytes: number | undefined
  for (let i = 1; i <= again; i += 1) {
    const server = await start()
    later.push(server.readyMilliseconds)
    if (i === again) {
      await delay(IDLE_SECONDS * 1000)
      idleBytes = residentBytes(server.running.pid, server.port)
    }
    await server.running.stop()
  }
  return { how, first: first.readyMilliseconds, later, idleBytes }
}
