// Starts the server: opens the store, applies the bootstrap, builds the app, listens, and drains on a signal.
import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import type { Server as TlsServer } from 'node:tls'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { App, AppDeps } from './app.ts'
import { buildApp, loadInner } from './app.ts'
import { createPasswords } from './base/passwords.ts'
import { pauseUnless } from './base/concurrency/pause.ts'
import type { MasterVault } from './base/secrets.ts'
import { applyBootstrap } from './bootstrap.ts'
import type { Sighup } from './bootstrap/sighup.ts'
import { openTokenKeys } from './bootstrap/token-keys.ts'
import { announcementLine, plainAnnouncement, terminalAnnouncement } from './cli/announcement.ts'
import {
  appliedText,
  migrationProgress,
  newerText,
  openAwaitedStorage,
  whileUnreachable,
} from './cli/database/storage.ts'
import type { Config } from './config.ts'
import type { Sender } from './mail/sender.ts'
import { openLog } from './main/log.ts'
import { listenFailure, MANAGEMENT_SETTINGS, withUsablePort } from './main/port.ts'
import { acceptWaiting, listenForStop } from './main/stopping.ts'
import type { Stopping } from './main/stopping.ts'
import { startTasks } from './main/tasks.ts'
import { readBuildFacts } from './ops/build.ts'
import { freeMemoryWhenIdle } from './ops/idle-memory.ts'
import { combined } from './ops/instrument.ts'
import type { Log } from './ops/log.ts'
import type { Management } from './ops/management.ts'
import type { Measuring } from './ops/measuring.ts'
import { paintTerminal } from './ops/terminal.ts'
import type { Tracing } from './ops/tracing.ts'
import type { Store } from './store/store.ts'

const SWEEP_MS = 100
const NO_SDK =
  'tracing.enabled has no effect: no SDK of OpenTelemetry was loaded before the server (see docs/operate.md)'
/** From a worker process to the primary one. */
const MAIL_QUEUED = 'mail queued'
// Hashing never takes more of the thread pool than the cores can use; the launcher leaves the rest to signing.
const HASHES_AT_ONCE = availableParallelism()

/** The log and the signals of the process, from its start on. */
interface Contact {
  readonly log: Log
  readonly tracing: Tracing | undefined
  readonly sighup: Sighup | undefined
  readonly stopping: Stopping
}

/** Only where needed: otherwise SIGHUP should end a process whose terminal is closed. */
async function openSighup({ masterKey }: Config): Promise<Sighup | undefined> {
  if (masterKey?.from !== 'command') return undefined
  const { listenForSighup } = await import('./bootstrap/sighup.ts')
  return listenForSighup()
}

/** Loads the code of the first requests as well, and starts nothing. */
export async function load(): Promise<void> {
  await loadInner()
}

/** Runs until a signal stops it; rejects when the database or the port is unavailable. */
export async function start(given: Config): Promise<void> {
  const sighup = await openSighup(given)
  const { log, tracing } = await openLog(given)
  process.on('exit', log.flush) // writes the last lines however the process ends
  const contact = { log, tracing, sighup, stopping: listenForStop(given, log) }
  if (tracing && !tracing.hasSdk && !cluster.isWorker) log.warn(NO_SDK)
  if (cluster.isWorker) return follow(given, contact)
  const config = await withUsablePort(given)
  if (config.workers > 1) return lead(config, contact)
  const parts = await prepare(config, contact)
  await closeOnFailure(parts.store, async () => {
    await fillDatabase(parts)
    await listenForManagement(parts)
    await keepKeys(parts)
    await serve(parts)
  })
  const stopTasks = await startTasks({ ...parts, ...parts.app })
  parts.sender?.start()
  contact.stopping.by(() => stopServing(parts, stopTasks()))
  flushCompileCache() // written at a clean exit only, unless asked for
  announce(config, log)
  freeMemoryWhenIdle()
}

/** A worker process; the primary process has prepared the database and purges it. */
async function follow(config: Config, contact: Contact): Promise<void> {
  try {
    const parts = await prepare(config, contact)
    await closeOnFailure(parts.store, async () => {
      await openDefaultZone(parts)
      await keepKeys(parts) // before the primary process may forward signals
      await serve(parts)
    })
    contact.stopping.by(() => stopServing(parts))
    flushCompileCache()
    freeMemoryWhenIdle()
  } catch (error) {
    cluster.worker?.disconnect() // which would keep the process alive
    throw error
  }
}

/**
 * The primary process: prepares the database, restarts workers, and does the work that is done once for all of them:
 * purging, mails, logouts, webhooks, metrics.
 */
async function lead(config: Config, contact: Contact): Promise<void> {
  const { log } = contact
  const { startWorkers, stopWorkers, restartWorkers } = await import('./main/workers.ts')
  const parts = await prepare(config, contact)
  let isStopping = false
  let stopTasks: (() => Promise<void>) | undefined
  await closeOnFailure(parts.store, async () => {
    await fillDatabase(parts)
    await keepKeys(parts)
    // Registered before any worker starts: the first one serves before the last one is ready.
    contact.stopping.by(async () => {
      isStopping = true
      await Promise.all([stopTasks?.(), stopWorkers('SIGTERM')])
      await close(parts)
    })
    await listenForManagement(parts)
    await startWorkers(config.workers, () => isStopping)
    stopTasks = await startTasks({ ...parts, ...parts.app }) // last, because a failed start would not end them
  })
  const { sender, measuring } = parts
  sender?.start()
  if (sender) measuring?.begin(() => sender.report())
  cluster.on('message', (_worker, message) => message === MAIL_QUEUED && sender?.wake())
  announce(config, log)
  restartWorkers({ log, isStopping: () => isStopping })
}

type Parts = Omit<AppDeps, 'build' | 'instrument' | 'onMail'> & {
  readonly vault: MasterVault
  readonly sighup: Sighup | undefined
  readonly app: App
  readonly management: Management | undefined
  readonly measuring: Measuring | undefined
  /** Absent without a mail server, and in worker processes: the primary process sends. */
  readonly sender: Sender | undefined
}

/** Opens the database and builds the server, but does not listen. */
async function prepare(config: Config, { log, tracing, sighup }: Contact): Promise<Parts> {
  const build = readBuildFacts()
  let app: App | undefined
  const measuring = await openMeasuring(config, log)
  const management = await openManagement(config, {
    version: build.version,
    isDatabaseUp: () => app?.health.databaseWorks ?? true,
    log,
  })
  const instrument = combined([tracing, log.requests, measuring?.metrics, management?.instrument])
  const { clock, random, vault, store } = await openAwaitedStorage(config, {
    log,
    onQuery: instrument?.countQuery,
    ...migrationProgress(line => cluster.isWorker || log.info(line)),
    onMigrated: ({ applied, unknown }) => {
      if (cluster.isWorker) return
      for (const line of [appliedText(applied), newerText(unknown).trim()]) if (line !== '') log.info(line)
    },
  })
  if (config.databaseOptions.replicas.length > 0) management?.addSearches(store)
  const passwords = createPasswords({ concurrency: HASHES_AT_ONCE, cost: config.hashCost })
  const clientSecrets = createPasswords({ concurrency: 1, cost: config.hashCost })
  const tokenKeys = await openTokenKeys(config, log)
  const deps = { config, store, vault, tokenKeys, passwords, clientSecrets, clock, random, log }
  const sender = cluster.isWorker ? undefined : await openSender(deps)
  const onMail = sender ? () => sender.wake() : () => void process.send?.(MAIL_QUEUED)
  if (sender) management?.addMails(sender)
  return closeOnFailure(store, async () => {
    app = await buildApp({ ...deps, instrument, onMail, build })
    return { ...deps, sighup, measuring, management, sender, app }
  })
}

/** These are loaded only where they are configured, because most of the start is loading. */
async function openMeasuring(config: Config, log: Log): Promise<Measuring | undefined> {
  if (!config.operations.statsd) return undefined
  const { measure } = await import('./ops/measuring.ts')
  return measure(config, cause => log.fault('metrics cannot be sent', cause))
}

async function openManagement(
  config: Config,
  { log, ...facts }: { readonly version: string; readonly isDatabaseUp: () => boolean; readonly log: Log },
): Promise<Management | undefined> {
  const settings = config.listen.management
  if (!settings) return undefined
  const { createManagement } = await import('./ops/management.ts')
  return createManagement({ ...config, ...facts, settings, onFailure: cause => log.fault('management port', cause) })
}

async function listenForManagement({ management, config, log }: Parts): Promise<void> {
  if (!management || !config.listen.management) return
  try {
    const port = await management.listen()
    log.info(`metrics are on port ${port} of ${config.listen.management.host}, at /metrics`)
  } catch (error) {
    throw listenFailure(error, config.listen.management, MANAGEMENT_SETTINGS)
  }
}

async function openSender(deps: Omit<AppDeps, 'build'>): Promise<Sender | undefined> {
  const { smtp } = deps.config
  if (!smtp) return undefined
  const [{ createSender }, { createTransport }, { expiryTime }] = await Promise.all([
    import('./mail/sender.ts'),
    import('./mail/transport.ts'),
    import('./ops/shared-tasks.ts'),
  ])
  return createSender({
    ...deps,
    smtp,
    mails: deps.store.mails,
    expiryTime: () => expiryTime(deps.clock, deps.store),
    sharedTime: () => deps.store.now(),
    transport: createTransport(smtp),
    pause: pauseUnless,
  })
}

/** Closes the store on failure: an open database would keep the process alive. */
async function closeOnFailure<T>(store: Store, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The records of the configuration, and the first key; waits for a database that was there and is away for a moment. */
async function fillDatabase(parts: Parts): Promise<void> {
  const { log } = parts
  await whileUnreachable(() => applyBootstrap({ ...parts, log: log.info, warn: log.warn }), log)
  await openDefaultZone(parts)
}

/** The first request must not wait for a key to be made, and an outage may come before it. */
const openDefaultZone = ({ app: { keys }, store, config: { service: zoneId }, log }: Parts): Promise<unknown> =>
  whileUnreachable(async () => {
    await keys.active(zoneId) // makes the first one
    await Promise.all([store.zones.find(zoneId), keys.list(zoneId)])
  }, log)

async function serve({ app, config, measuring, sender, log, clock }: Parts): Promise<void> {
  await Promise.all([app.health.probe(), app.http.ready()]) // the probe waits for the disk meanwhile
  app.health.keepProbing(config.operations.probeMilliseconds)
  measuring?.begin(async () => [...measuring.metrics.report(), ...((await sender?.report()) ?? [])])
  try {
    await app.http.listen({ host: config.listen.host, port: config.listen.port })
  } catch (error) {
    throw listenFailure(error, config.listen)
  }
  const { tls } = config.listen
  if (!tls) return
  const { reloadTlsFiles } = await import('./ops/tls-reload.ts')
  reloadTlsFiles(app.http.server as unknown as TlsServer, tls, { log, clock }) // which it is with these settings
}

/** Reloads the master keys when they change; until the process ends. */
async function keepKeys(parts: Parts): Promise<void> {
  const { reloadMasterKeys } = await import('./bootstrap/master-key-reload.ts')
  reloadMasterKeys(parts)
}

/** Reports unready for the configured time, then closes; deliveries to others that are under way end before the store. */
async function stopServing(parts: Parts, deliveries?: Promise<unknown>): Promise<void> {
  const { stoppingMilliseconds } = parts.config.operations
  parts.app.health.stop()
  // A proxy keeps connections for its next requests. It gives these up, instead of sending a request while they are closed.
  parts.app.http.server.prependListener('request', (_, response) => void response.setHeader('connection', 'close'))
  if (stoppingMilliseconds > 0) await pause(stoppingMilliseconds)
  await acceptWaiting(parts.app.http.server)
  await close(parts, deliveries)
}

/** A client would keep a connection for a minute whose last request was under way when the drain began. */
async function close(
  { app, store, sender, management, tokenKeys }: Parts,
  deliveries?: Promise<unknown>,
): Promise<void> {
  const sweep = setInterval(() => app.http.server.closeIdleConnections(), SWEEP_MS)
  await app.http.close()
  clearInterval(sweep)
  await app.background.idle()
  await deliveries // whose outcome is still to be written
  await app.trail?.stop()
  await sender?.stop()
  management?.close()
  tokenKeys?.close()
  await store.close()
}

/** With JSON logs, another log line; the playground's message is always plain text. */
function announce(config: Config, log: Log): void {
  for (const warning of config.warnings) log.warn(warning)
  const { stdout } = process
  const isLine = !stdout.isTTY && !config.playground
  if (isLine) log.info(announcementLine(config, readBuildFacts()))
  log.flush()
  if (!isLine) stdout.write(stdout.isTTY ? terminalAnnouncement(config, paintTerminal) : plainAnnouncement(config))
}
