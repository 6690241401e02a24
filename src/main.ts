// Starts the server: opens the store, applies the bootstrap, builds the app, listens, and drains when told to stop.
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { App } from './app.ts'
import { buildApp } from './app.ts'
import { systemClock } from './base/clock.ts'
import { createPasswords } from './base/passwords.ts'
import { createRandom } from './base/random.ts'
import { createVault } from './base/secrets.ts'
import { applyBootstrap } from './bootstrap.ts'
import type { Config } from './config.ts'
import { masterKeyFor } from './config.ts'
import { createLog } from './ops/log.ts'
import type { Log } from './ops/log.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'

const PURGE_EVERY_MS = 30_000
const DRAIN_MS = 10_000
// Hashing never takes more of the thread pool than the cores can use; signing needs the rest.
const HASHES_AT_ONCE = Math.min(availableParallelism(), 14)

/** Runs until SIGTERM or SIGINT; rejects when the database or the port cannot be had. */
export async function start(given: Config): Promise<void> {
  const config = await withKnownPort(given)
  const log = createLog()
  if (config.workers > 1 && cluster.isPrimary) return lead(config, log)
  const { store, app } = await serve(config, log)
  flushCompileCache() // written at a clean exit only, unless asked for
  const isOnlyProcess = !cluster.isWorker
  if (isOnlyProcess) announce(config, log)
  const stopPurging = isOnlyProcess ? keepPurging(store, log) : () => {}
  onStop(async () => {
    stopPurging()
    await app.http.close()
    await store.close()
    log.flush()
  })
}

async function serve(config: Config, log: Log): Promise<{ store: Store; app: App }> {
  const random = createRandom()
  const clock = systemClock
  const vault = createVault(await masterKeyFor(config, random), random)
  const store = await openStore(config.database, { clock, onError: cause => log.fault('database', cause) })
  const passwords = createPasswords({ places: HASHES_AT_ONCE })
  if (!cluster.isWorker) {
    await applyBootstrap({ store, passwords, vault, clock, random, config, log: log.info })
  }
  const app = await buildApp({ config, store, vault, passwords, clock, random, log, version: productVersion() })
  await app.keys.active(config.service) // the first request must not wait for a key to be made
  try {
    await app.http.listen({ host: config.listen.host, port: config.listen.port })
  } catch (error) {
    await store.close()
    throw error
  }
  return { store, app }
}

/** The first process of several: it prepares the database, then only keeps the others running. */
async function lead(config: Config, log: Log): Promise<void> {
  const random = createRandom()
  const vault = createVault(await masterKeyFor(config, random), random)
  const store = await openStore(config.database, { clock: systemClock, onError: cause => log.fault('database', cause) })
  const passwords = createPasswords({ places: HASHES_AT_ONCE })
  await applyBootstrap({ store, passwords, vault, clock: systemClock, random, config, log: log.info })
  const app = await buildApp({
    config,
    store,
    vault,
    passwords,
    clock: systemClock,
    random,
    log,
    version: productVersion(),
  })
  await app.keys.active(config.service)

  let stopping = false
  await new Promise<void>((resolve, reject) => {
    let ready = 0
    cluster.on('listening', () => {
      ready += 1
      if (ready === config.workers) resolve()
    })
    cluster.on('exit', (worker, code) => {
      if (stopping) return
      if (ready < config.workers) reject(new Error(`a worker could not start (exit status ${code})`))
      log.warn(`worker ${worker.process.pid} ended with status ${code}; starting another`)
      cluster.fork()
    })
    for (let i = 0; i < config.workers; i += 1) cluster.fork()
  })
  announce(config, log)
  const stopPurging = keepPurging(store, log)
  onStop(async () => {
    stopping = true
    stopPurging()
    const running = Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
    await Promise.all(
      running.map(worker => {
        const gone = new Promise(resolve => worker.once('exit', resolve))
        worker.process.kill('SIGTERM')
        return gone
      }),
    )
    await store.close()
    log.flush()
  })
}

/** Deletes what expired, in small batches with pauses between them, so that no request waits for it. */
function keepPurging(store: Store, log: Log): () => void {
  let running = false
  async function purge(): Promise<void> {
    if (running) return
    running = true
    try {
      while ((await store.purge(systemClock.now())) > 0) await nextTurn()
    } catch (cause) {
      log.fault('purge', cause)
    } finally {
      running = false
    }
  }
  const timer = setInterval(() => void purge(), PURGE_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Stops accepting, finishes what is under way, exits with 0; after ten seconds it no longer waits. */
function onStop(stop: () => Promise<void>): void {
  let stopping = false
  const handle = (): void => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(0), DRAIN_MS).unref()
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', handle)
  process.on('SIGINT', handle)
}

/** With port 0 the system chooses one, which has to be known before the base URL is. */
async function withKnownPort(config: Config): Promise<Config> {
  if (config.listen.port !== 0 || cluster.isWorker) return config
  const port = await new Promise<number>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, config.listen.host, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
  return { ...config, listen: { ...config.listen, port }, baseUrl: config.baseUrl.replace(/:0$/, `:${port}`) }
}

function announce({ baseUrl, playground, warnings }: Config, log: Log): void {
  for (const warning of warnings) log.warn(warning)
  log.flush()
  const lines = [`Latchkey is ready at ${baseUrl}`]
  if (playground) {
    lines.push(
      '',
      'This is the playground: its accounts and secrets are public. Never let others reach it.',
      'Get a token:',
      `curl -s -u app:appclientsecret -d grant_type=password -d username=marissa -d password=koala ${baseUrl}/oauth/token`,
      'Sign in with a browser, as marissa with the password koala:',
      `${baseUrl}/login`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}

function productVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
  const version: unknown =
    typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : undefined
  return typeof version === 'string' ? version : 'unknown'
}
