// A whole server in the test's process: real configuration, bootstrap, store and routes; only the clock and the cost of
// hashing differ from a start by the command line. Requests go through Fastify's `inject`, which runs everything but the
// sockets.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { App } from '../../src/app.ts'
import { buildApp } from '../../src/app.ts'
import { createPasswords } from '../../src/base/passwords.ts'
import type { HashCost } from '../../src/base/passwords.ts'
import { createRandom } from '../../src/base/random.ts'
import type { MasterVault } from '../../src/base/secrets.ts'
import { applyBootstrap } from '../../src/bootstrap.ts'
import { openTokenKeys } from '../../src/bootstrap/token-keys.ts'
import { openVault } from '../../src/bootstrap/vault.ts'
import { openMail } from '../../src/mail/mailer.ts'
import type { AddressedMail } from '../../src/mail/mailer.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { AuditEvent } from '../../src/model/audit/event.ts'
import type { SigningAlgorithm } from '../../src/model/tokens/signing-key.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { generateKey } from '../../src/token/keys/key-generation.ts'
import type { TestClock } from './clock.ts'
import { freePort } from './free-port.ts'
import { createTestClock } from './clock.ts'
import { fillNewFile, openMemory } from './database-images.ts'
import { defaultBootstrap } from './default-bootstrap.ts'
import { sender } from './inject.ts'
import type { Send, TestAnswer, TestRequest } from './inject.ts'
import { createBrowser } from './inject-browser.ts'
import type { Browser } from './inject-browser.ts'
import { rsaKeyPair } from './rsa-keys.ts'
import { readConfig } from './server-config.ts'

export { defaultBootstrap } from './default-bootstrap.ts'
export type { TestAnswer, TestRequest } from './inject.ts'
export type { Browser } from './inject-browser.ts'

/** How a test server differs from the default one. */
export interface ServerOptions {
  readonly mode?: CompatibilityMode
  /** Starts without a configuration file, like the playground; `mode` and `config` have no effect then. */
  readonly playground?: boolean
  /** In memory unless the test names another. */
  readonly database?: string
  /** Keys of the configuration file; `bootstrap` replaces the usual one of `defaultBootstrap`. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly clock?: TestClock
  /** Of the database; that of the process unless given. */
  readonly databaseClock?: TestClock
  /** The first one encrypts; by default one shared by all tests. */
  readonly masterKeys?: readonly Buffer[]
  /** Cost of hashing; minimal by default. */
  readonly hashCost?: HashCost
}

/** A running test server. */
export interface TestServer {
  readonly baseUrl: string
  readonly app: App
  readonly store: Store
  readonly clock: TestClock
  readonly vault: MasterVault
  /** The audit trail so far. */
  readonly events: readonly AuditEvent[]
  /** What else was logged so far. */
  readonly lines: readonly string[]
  /** Details of refusals that were logged so far. */
  readonly refusals: readonly string[]
  /** Faults that were logged; a test that provokes none asserts that there are none. */
  readonly faults: readonly unknown[]
  readonly send: Send
  /** `POST /oauth/token`. */
  token(form: Readonly<Record<string, string>>, request?: TestRequest): Promise<TestAnswer>
  /** The queued mails, newest first, after background work has finished. */
  mails(): Promise<readonly AddressedMail[]>
  /** A browser: keeps its cookies from one answer to the next request. */
  browser(host?: string): Browser
  stop(): Promise<void>
}

const sharedKeys = new Map<SigningAlgorithm, ReturnType<typeof generateKey>>()

/** The key of the algorithm that all servers of the process sign with, unless their configuration names another. */
const sharedKey: typeof generateKey = (algorithm, random) => {
  const isRsa = /^[RP]S/.test(algorithm)
  const make = () => (isRsa ? Promise.resolve({ algorithm, ...rsaKeyPair() }) : generateKey(algorithm, random))
  const key = sharedKeys.get(algorithm) ?? make()
  sharedKeys.set(algorithm, key)
  return key
}

/** Runs the work with a separate server, and asserts that it logged no fault. */
export async function withServer(options: ServerOptions, work: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer(options)
  try {
    await work(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

/**
 * Starts a server that listens at its base URL, for browsers and libraries; the options may depend on that URL. The test stops
 * it.
 */
export async function startListening(
  options: (base: string) => ServerOptions,
): Promise<{ readonly server: TestServer; readonly base: string }> {
  const port = await freePort()
  const base = `http://localhost:${port}`
  const { config, ...rest } = options(base)
  const server = await startServer({ ...rest, config: { ...config, base_url: base } })
  await server.app.http.listen({ host: '127.0.0.1', port })
  return { server, base }
}

/** Like `startListening`, with the system clock, which libraries use. */
export async function startInRealTime(
  options: (base: string) => ServerOptions,
): Promise<{ readonly server: TestServer; readonly base: URL }> {
  const { server, base } = await startListening(url => ({ clock: createTestClock(Date.now()), ...options(url) }))
  return { server, base: new URL(base) }
}

/** Starts a server; the test stops it. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const clock = options.clock ?? createTestClock()
  const random = createRandom()
  const database = options.database ?? 'sqlite::memory:'
  const {
    config,
    recipe: configuration,
    folder,
  } = await readConfig({ ...options, config: { bootstrap: defaultBootstrap, ...options.config } })
  const faults: unknown[] = []
  const events: AuditEvent[] = []
  const lines: string[] = []
  const refusals: string[] = []
  const hashCost = options.hashCost ?? { memoryKib: 64, passes: 1 }
  const recipe = JSON.stringify([configuration, hashCost, clock.now(), options.masterKeys])
  const kept = database === 'sqlite::memory:' ? await openMemory(recipe) : undefined
  if (!kept) await fillNewFile(database)
  const { changes } = config.databaseOptions
  const store = await openStore(database, {
    clock: options.databaseClock ?? clock,
    onError: fault => faults.push(fault),
    memory: kept?.memory,
    changes,
  })
  const masterKeys = options.masterKeys ?? [Buffer.alloc(32, 7)]
  const vault = await openVault({ store, masterKeys, random, service: config.service })
  const passwords = createPasswords({ concurrency: 2, cost: hashCost })
  const log = {
    info: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line),
    fault: (_: string, cause: unknown) => void faults.push(cause),
    refusal: (line: string) => void refusals.push(line),
    audit: (event: AuditEvent) => void events.push(event),
    request: () => {},
    requests: undefined,
    flush: () => {},
  }
  const tokenKeys = await openTokenKeys({ ...config, programEnv: process.env }, log) // which say where SoftHSM is
  try {
    await applyBootstrap({ store, passwords, vault, tokenKeys, clock, random, config, log: () => {}, warn: () => {} })
  } catch (error) {
    tokenKeys?.close()
    throw error
  }
  kept?.keepPrepared()
  const app = await buildApp({
    config,
    store,
    vault,
    tokenKeys,
    passwords,
    clientSecrets: passwords,
    clock,
    random,
    log,
    build: { version: 'test' },
    generateKey: sharedKey,
  })
  await app.health.probe()
  await app.http.ready()
  const { baseUrl } = config
  const send = sender(app, baseUrl)

  return {
    baseUrl,
    app,
    store,
    clock,
    vault,
    events,
    lines,
    refusals,
    faults,
    send,
    token: (form, request) => send('/oauth/token', { form, ...request }),
    browser: host => createBrowser(send, host),
    async mails() {
      await app.background.idle()
      return (await store.mails.newest(100)).map(mail => openMail(vault, mail))
    },
    async stop() {
      await app.http.close()
      await app.background.idle()
      await app.trail?.stop()
      tokenKeys?.close()
      await store.close()
      if (folder !== undefined) await rm(folder, { recursive: true })
    },
  }
}
