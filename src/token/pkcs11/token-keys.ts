// Keys in PKCS#11 tokens: sessions are opened on demand, lost ones are replaced, and the queue is bounded.
import type { KeyInToken } from '../../model/tokens/key-in-token.ts'
import type { Signer, TokenKeys } from '../keys/signer.ts'
import { SigningUnavailable } from '../keys/signer.ts'
import { mechanismOf } from './mechanisms.ts'
import type { Session } from './session.ts'
import { openSession, PinRefused } from './session.ts'

const MAX_WAITING = 1000
/** After a failure; until then requests fail at once. */
const RETRY_MS = 1000

interface Deps {
  /** Environment of the processes in which the token's library runs. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: { info(message: string): void; warn(message: string): void }
  /** Until a signature. */
  readonly timeoutMilliseconds?: number
}

const notNamed = (keyId: string): SigningUnavailable =>
  new SigningUnavailable(`signing key ${keyId} is in a hardware token that signing_keys of this server does not list`)

/** Opens no session yet. */
export function createTokenKeys(keys: Readonly<Record<string, KeyInToken>>, deps: Deps): TokenKeys {
  const opened = new Map<string, TokenKey>()
  const logins = new Map<string, Login>()

  function loginOf({ module, token, pin }: KeyInToken['pkcs11']): Login {
    const account = JSON.stringify([module, token, pin])
    const login = logins.get(account) ?? createLogin()
    logins.set(account, login)
    return login
  }

  function keyOf(keyId: string): TokenKey {
    const cached = opened.get(keyId)
    if (cached) return cached
    const settings = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined
    if (!settings) throw notNamed(keyId)
    const made = createTokenKey(keyId, settings, { ...deps, login: loginOf(settings.pkcs11) })
    opened.set(keyId, made)
    return made
  }

  return {
    publicKeyOf: async keyId => keyOf(keyId).publicKey(),
    signerOf(keyId, publicKey) {
      if (!Object.hasOwn(keys, keyId)) return () => Promise.reject(notNamed(keyId))
      const key = keyOf(keyId)
      key.publicKey().catch(() => {}) // logged; the first signature tries again
      return key.signer(publicKey)
    },
    close() {
      for (const key of opened.values()) key.close()
    },
  }
}

interface TokenKey {
  publicKey(): Promise<string>
  signer(publicKey: string): Signer
  close(): void
}

interface PooledSession {
  readonly session: Session
  /** Signatures in progress or queued. */
  work: number
}

/** Opens a session, which tries the PIN. */
type Login = (open: () => Promise<Session>) => Promise<Session>

/** One session of a token at a time, and none after the PIN was refused: the keys of a token share its count of wrong PINs. */
function createLogin(): Login {
  let last: Promise<unknown> = Promise.resolve()
  return open => {
    const session = last.then(open)
    last = session.catch((cause: unknown) => {
      if (cause instanceof PinRefused) throw cause
    })
    last.catch(() => {}) // reported with the session
    return session
  }
}

/** The signature was not made because its session was lost. */
class Lost extends SigningUnavailable {}

interface TokenKeyDeps extends Deps {
  readonly login: Login
}

function createTokenKey(keyId: string, key: KeyInToken, deps: TokenKeyDeps): TokenKey {
  const { pkcs11 } = key
  const mechanism = mechanismOf(key.algorithm)
  const pool = createSessionPool(keyId, key, deps)
  const { unavailable } = pool
  let waiting = 0

  async function signed(input: Buffer, publicKey: string): Promise<Buffer> {
    const taken = await pool.take()
    try {
      if (taken.session.publicKey !== publicKey) throw unavailable(`the token has another key labelled ${pkcs11.label}`)
      const signature = await taken.session.sign(input)
      if (mechanism.bytes !== undefined && signature.length !== mechanism.bytes) {
        throw unavailable(`the token returned a signature of ${signature.length} bytes`)
      }
      pool.noteSignature()
      return signature
    } catch (error) {
      throw pool.has(taken) ? error : new Lost('the session was lost', { cause: error })
    } finally {
      taken.work -= 1
    }
  }

  /** Retries once with a new session if the session was lost, for example because the module was restarted. */
  async function signedAtLast(input: Buffer, publicKey: string): Promise<Buffer> {
    try {
      return await signed(input, publicKey)
    } catch (error) {
      if (!(error instanceof Lost)) throw error
    }
    try {
      return await signed(input, publicKey)
    } catch (error) {
      throw error instanceof Lost ? pool.fail(error.cause) : error
    }
  }

  return {
    async publicKey() {
      const taken = await pool.take()
      taken.work -= 1
      return taken.session.publicKey
    },
    signer: publicKey => async data => {
      if (waiting >= MAX_WAITING) throw unavailable('too many signatures are waiting')
      waiting += 1
      try {
        return await signedAtLast(mechanism.input(data), publicKey)
      } finally {
        waiting -= 1
      }
    },
    close: () => pool.close(),
  }
}

/** The sessions of one key: as many as its work needs, and none for a while after a failure. */
function createSessionPool(
  keyId: string,
  { algorithm, pkcs11 }: KeyInToken,
  { log, env, timeoutMilliseconds, login }: TokenKeyDeps,
) {
  const { sessions: max, ...location } = pkcs11
  const { type, parameter } = mechanismOf(algorithm)
  const request = { location, mechanism: { type, parameter } }
  const sessions = new Set<PooledSession>()
  let opening: Promise<PooledSession> | undefined
  let failed: SigningUnavailable | undefined
  let isPinRefused = false
  let isAway = false
  let isClosed = false

  const unavailable = (problem: string, cause?: unknown): SigningUnavailable =>
    new SigningUnavailable(`signing key ${keyId}: ${problem}`, { cause })

  /** Requests fail at once for a while. A refused PIN is never tried again: the token might be locked. */
  function fail(cause: unknown): SigningUnavailable {
    const error = unavailable(`the token cannot be used: ${cause instanceof Error ? cause.message : 'unknown'}`, cause)
    const isFinal = cause instanceof PinRefused
    if (isFinal || !isPinRefused) failed = error
    isPinRefused ||= isFinal
    setTimeout(() => {
      if (!isPinRefused) failed = undefined
    }, RETRY_MS).unref()
    if (!isAway || isFinal)
      log.warn(`${error.message}${isFinal ? '; the PIN is not tried again until the server is restarted' : ''}`)
    isAway = true
    return error
  }

  async function open(): Promise<PooledSession> {
    try {
      const session = await login(() =>
        openSession(request, {
          env,
          onEnd: () => sessions.delete(pooled),
          ...(timeoutMilliseconds !== undefined && { timeoutMilliseconds }),
        }),
      )
      const pooled = { session, work: 0 }
      if (isClosed) session.end()
      else sessions.add(pooled)
      return pooled
    } catch (error) {
      throw fail(error)
    }
  }

  /** The session with the least work. If all are busy, another one is opened in the background. */
  async function take(): Promise<PooledSession> {
    if (isClosed) throw unavailable('the server is stopping')
    const [least] = [...sessions].toSorted((one, other) => one.work - other.work)
    if (!least && failed) throw failed
    const isEnough = least !== undefined && (least.work === 0 || sessions.size >= max || failed !== undefined)
    const more = isEnough ? undefined : (opening ??= open().finally(() => (opening = undefined)))
    more?.catch(() => {}) // logged
    const taken = least ?? (await more)
    if (!taken) throw unavailable('there is no session')
    taken.work += 1
    return taken
  }

  return {
    unavailable,
    take,
    fail,
    /** Whether the session was not lost since it was taken. */
    has: (taken: PooledSession): boolean => sessions.has(taken),
    /** Logs that the token is there again, after a failure. */
    noteSignature(): void {
      if (isAway) log.info(`signing key ${keyId}: the token signs again`)
      isAway = false
    },
    close(): void {
      isClosed = true
      for (const { session } of sessions) session.end()
    },
  }
}
