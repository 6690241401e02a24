// A whole server in the test's process: real configuration, bootstrap, store and routes; only the clock and the cost of
// hashing differ from a start by the command line. Requests go through Fastify's `inject`, which
// runs everything but the sockets, so that any Host header can be sent.
import { rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
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
import { generateKey } from '../../src/token/key-generation.ts'
import type { TestClock } from './clock.ts'
import { createTestClock } from './clock.ts'
import { rsaKeyPair } from './rsa-keys.ts'
import { readConfig } from './server-config.ts'

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
  /** The first one seals; absent: one that all tests share. */
  readonly masterKeys?: readonly Buffer[]
  /** Of hashing; next to nothing unless given. */
  readonly hashCost?: HashCost
}

/** One request. */
export interface TestRequest {
  readonly method?: string
  /** Parameters of the query. */
  readonly query?: Readonly<Record<string, string>>
  /** A form body: its parameters, or the text as it is to be sent. */
  readonly form?: Readonly<Record<string, string>> | string
  /** A body of another kind, with its own content type in `headers`. */
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** `client_id:secret`, put into a Basic header as RFC 6749 §2.3.1 wants it. */
  readonly basic?: readonly [string, string]
  readonly bearer?: string
  readonly cookies?: Readonly<Record<string, string>>
  /** The Host header; the base URL's unless given. */
  readonly host?: string
}

/** One answer. */
export interface TestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The body as JSON, of the type that the test expects; throws when it is none. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a test says what it expects, and then asserts it
  json<T = Record<string, unknown>>(): T
  /** Location header, parsed; throws when there is none. */
  location(): URL
  /** Cookies that were set, by name; an expired one has the value ''. */
  readonly cookies: Readonly<Record<string, string>>
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
  send(path: string, request?: TestRequest): Promise<TestAnswer>
  /** `POST /oauth/token`. */
  token(form: Readonly<Record<string, string>>, request?: TestRequest): Promise<TestAnswer>
  /** The mails that wait to be sent, newest first; what answers do not wait for is done first. */
  mails(): Promise<readonly AddressedMail[]>
  /** A browser: keeps its cookies from one answer to the next request. */
  browser(host?: string): Browser
  stop(): Promise<void>
}

/** A browser without a window: follows nothing, keeps cookies. */
export interface Browser {
  readonly cookies: Map<string, string>
  send(path: string, request?: TestRequest): Promise<TestAnswer>
  /** Opens the sign-in page and posts the form; answers what the form's post was answered. */
  signIn(userName: string, password: string): Promise<TestAnswer>
  /** The value of the anti-forgery cookie. */
  readonly csrf: string
}

/** The accounts that most tests use: a confidential, a public and a service client, a user with and one without groups. */
export const defaultBootstrap = {
  groups: [
    { displayName: 'cloud.read', description: 'Read the cloud' },
    { displayName: 'cloud.write', description: 'Change the cloud' },
  ],
  clients: [
    {
      client_id: 'app',
      client_secret: 'app-secret',
      name: 'The application',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
      scope: ['openid', 'profile', 'email', 'cloud.read', 'cloud.write'],
      redirect_uri: ['https://app.example/cb'],
      post_logout_redirect_uris: ['https://app.example/bye'],
    },
    {
      client_id: 'auto',
      client_secret: 'auto-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
      scope: ['openid', 'profile', 'cloud.read'],
      redirect_uri: ['https://auto.example/cb', 'http://127.0.0.1/cb'],
      autoapprove: true,
    },
    {
      client_id: 'spa',
      allowpublic: true,
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      scope: ['openid', 'cloud.read'],
      redirect_uri: ['https://spa.example/cb'],
      autoapprove: true,
    },
    {
      client_id: 'service',
      client_secret: 'service-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['jobs.run', 'jobs.read'],
    },
    {
      client_id: 'resource',
      client_secret: 'resource-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.resource'],
    },
  ],
  users: [
    {
      userName: 'marissa',
      password: 'koala',
      emails: [{ value: 'marissa@example.org' }],
      name: { givenName: 'Marissa', familyName: 'Bloggs' },
      groups: ['cloud.read'],
    },
    { userName: 'joel', password: 'wombat', emails: [{ value: 'joel@example.org' }] },
  ],
}

/** A migrated database, and those with the records of a configuration: the next server of it starts as if once more. */
let migrated: Uint8Array | undefined
const prepared = new Map<string, Uint8Array>()

const sharedKeys = new Map<SigningAlgorithm, ReturnType<typeof generateKey>>()

/** The key of the algorithm that all servers of the process sign with, unless their configuration names another. */
const sharedKey: typeof generateKey = (algorithm, random) => {
  const isRsa = /^[RP]S/.test(algorithm)
  const make = () => (isRsa ? Promise.resolve({ algorithm, ...rsaKeyPair() }) : generateKey(algorithm, random))
  const key = sharedKeys.get(algorithm) ?? make()
  sharedKeys.set(algorithm, key)
  return key
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
  const memory = database === 'sqlite::memory:' ? new DatabaseSync(':memory:') : undefined
  const recipe = JSON.stringify([configuration, hashCost, clock.now(), options.masterKeys])
  const image = prepared.get(recipe) ?? migrated
  if (image) memory?.deserialize(image)
  const { changes } = config.databaseOptions
  const store = await openStore(database, { clock, onError: fault => faults.push(fault), memory, changes })
  migrated ??= memory?.serialize()
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
  if (memory && !prepared.has(recipe)) prepared.set(recipe, memory.serialize())
  const clientSecrets = passwords
  const build = { version: 'test' }
  const app = await buildApp({
    config,
    store,
    vault,
    tokenKeys,
    passwords,
    clientSecrets,
    clock,
    random,
    log,
    build,
    generateKey: sharedKey,
  })
  await app.health.probe()
  await app.http.ready()
  const { baseUrl } = config

  async function send(path: string, request: TestRequest = {}): Promise<TestAnswer> {
    const { form, body, basic, bearer } = request
    const url = request.query ? `${path}?${new URLSearchParams(request.query).toString()}` : path
    const payload = form === undefined ? body : typeof form === 'string' ? form : new URLSearchParams(form).toString()
    const headers: Record<string, string> = { host: request.host ?? new URL(baseUrl).host }
    if (form !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded'
    if (basic) headers['authorization'] = `Basic ${btoa(basic.map(part => encodeURIComponent(part)).join(':'))}`
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
    if (request.cookies) {
      headers['cookie'] = Object.entries(request.cookies)
        .map(([name, value]) => `${name}=${value}`)
        .join('; ')
    }
    const answer = await app.http.inject({
      method: (request.method ?? (payload === undefined ? 'GET' : 'POST')) as 'GET', // any method's name
      url,
      headers: { ...headers, ...request.headers },
      ...(payload !== undefined && { payload }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string | string[] | undefined>, // numbers do not occur
      text: answer.body,
      json: () => JSON.parse(answer.body),
      location: () => new URL(String(answer.headers['location'])),
      cookies: Object.fromEntries(answer.cookies.map(({ name, value }) => [name, value])),
    }
  }

  function browser(host?: string): Browser {
    const cookies = new Map<string, string>()
    const self: Browser = {
      cookies,
      get csrf() {
        return cookies.get('X-Svc-Csrf') ?? cookies.get('X-Uaa-Csrf') ?? ''
      },
      async send(path, request = {}) {
        const answer = await send(path, {
          ...(host !== undefined && { host }),
          cookies: Object.fromEntries(cookies),
          ...request,
        })
        for (const [name, value] of Object.entries(answer.cookies)) {
          if (value === '') cookies.delete(name)
          else cookies.set(name, value)
        }
        return answer
      },
      async signIn(username, password) {
        const page = await self.send('/login')
        const field = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(page.text)
        const hidden = /name="form_redirect_uri" value="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&')
        return self.send('/login.do', {
          form: {
            username,
            password,
            ...(field?.[1] !== undefined && { [field[1]]: field[2] ?? '' }),
            ...(hidden !== undefined && { form_redirect_uri: hidden }),
          },
        })
      },
    }
    return self
  }

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
    browser,
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
