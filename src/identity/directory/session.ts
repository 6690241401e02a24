// One connection to a directory, secured as configured, with the three operations used. The only importer of the LDAP
// library, which costs 14 MB and is therefore loaded on first use.
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Client, Entry, Filter } from 'ldapts'
import type { OpenConnection } from '../../base/outbound.ts'
import { MessageStream } from './message-stream.ts'
import type { DirectoryUrl } from './settings.ts'

/** Why a directory gave no answer that can be used; `refused` is what it says of a wrong password. */
export type DirectoryFailure = 'refused' | 'missing' | 'misconfigured' | 'untrusted' | 'unreachable'

/** The one error of a session. Its message holds no name, password or text of the directory. */
export class DirectoryError extends Error {
  readonly failure: DirectoryFailure
  constructor(failure: DirectoryFailure, message: string) {
    super(message)
    this.name = 'DirectoryError'
    this.failure = failure
  }
}

/** An entry: its DN, and the values that are text by the attribute's name in lower case; none has no values. */
export interface DirectoryEntry {
  readonly dn: string
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

/** What is looked for, and where. */
export interface DirectorySearch {
  readonly base: string
  readonly scope: 'base' | 'one' | 'sub'
  /** Made by the library's parser; every entry when it is absent. */
  readonly filter?: Filter
  readonly attributes: readonly string[]
  /** How many entries are of interest. */
  readonly most: number
}

/** What was found. */
export interface DirectoryAnswer {
  readonly entries: readonly DirectoryEntry[]
  /** Whether the directory said that there is more elsewhere. */
  readonly isPartial: boolean
}

/** A connection to a directory; everything that fails is a `DirectoryError`. */
export interface DirectorySession {
  /** Fails with `refused` for a wrong password. */
  bind(dn: string, password: string): Promise<void>
  search(search: DirectorySearch): Promise<DirectoryAnswer>
  /** Whether the entry has the value, as the directory compares it. */
  compare(dn: string, attribute: string, value: string): Promise<boolean>
}

/** RFC 4511 §4.14.1. */
const START_TLS = '1.3.6.1.4.1.1466.20037'

/** Connects; the caller of `open` ends the connection. */
export async function openSession(
  open: OpenConnection,
  { hostname, tls }: DirectoryUrl,
  verifiesCertificate: boolean,
): Promise<DirectorySession> {
  const { Client: LdapClient } = await import('ldapts')
  const clientOn = (stream: MessageStream): Client => {
    let isTaken = false
    return new LdapClient({
      url: 'ldap://directory', // never used: the connection is there
      createConnection: () => {
        // Prevents the library from reconnecting, which would be without a bind.
        if (isTaken || stream.destroyed) throw new Error('closed')
        isTaken = true
        // The stream has all that the library uses of a socket.
        return stream as unknown as Socket
      },
    })
  }
  const host = hostname.replace(/^\[|\]$/g, '')
  let socket = await open()
  if (tls === 'start-tls') {
    const stream = new MessageStream(socket)
    await asked(stream, () => clientOn(stream).exop(START_TLS))
    try {
      socket = stream.detach()
    } catch {
      throw new DirectoryError('unreachable', 'something else follows the answer to StartTLS')
    }
  }
  // skipSSLVerification speaks of ldaps alone: who chose StartTLS has a name to verify.
  if (tls !== 'none') socket = await secured(socket, host, tls === 'start-tls' || verifiesCertificate)
  const stream = new MessageStream(socket)
  const client = clientOn(stream)
  return {
    bind: (dn, password) => asked(stream, () => client.bind(dn, password)),
    async search({ base, scope, filter, attributes, most }) {
      const options = { scope, attributes: [...attributes], sizeLimit: most, timeLimit: 5, ...(filter && { filter }) }
      const { searchEntries, searchReferences } = await asked(stream, () => client.search(base, options))
      return { entries: searchEntries.map(readEntry), isPartial: searchReferences.length > 0 }
    },
    compare: (dn, attribute, value) => asked(stream, () => client.compare(dn, attribute, value)),
  }
}

/** The certificate must be for the host of the address, be it a name or a literal address. */
async function secured(socket: Socket, host: string, verifies: boolean): Promise<TLSSocket> {
  const { connect } = await import('node:tls')
  const secure = connect({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }), // RFC 6066 §3: a literal address is no name
    rejectUnauthorized: verifies,
  })
  secure.on('error', () => {}) // later ones end the stream
  await new Promise<void>((connected, failed) => {
    secure.once('secureConnect', connected)
    secure.once('error', cause => {
      const code: unknown = Reflect.get(cause, 'code')
      const name = typeof code === 'string' ? code : 'no code'
      failed(
        secure.authorizationError
          ? new DirectoryError('untrusted', `its certificate is not trusted (${name})`)
          : new DirectoryError('unreachable', `TLS failed (${name})`),
      )
    })
    secure.once('close', () => failed(new DirectoryError('unreachable', 'closed the connection')))
  })
  return secure
}

function readEntry({ dn, ...attributes }: Entry): DirectoryEntry {
  const texts = Object.entries(attributes).flatMap(([name, value]) => {
    const values = [value].flat().filter(each => typeof each === 'string')
    return values.length > 0 ? [[name.toLowerCase(), values] as const] : []
  })
  return { dn, attributes: new Map(texts) }
}

/** Asks the library, whose errors repeat what was asked; result codes are those of RFC 4511 appendix A.2. */
async function asked<T>(stream: MessageStream, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    const { ResultCodeError } = await import('ldapts')
    if (!(cause instanceof ResultCodeError)) {
      throw new DirectoryError('unreachable', stream.failure?.message ?? 'closed the connection')
    }
    const { code } = cause
    throw new DirectoryError(FAILURES.get(code) ?? 'misconfigured', `answered with result code ${code}`)
  }
}

const FAILURES: ReadonlyMap<number, DirectoryFailure> = new Map([
  [19, 'refused'], // constraintViolation: some directories, after too many tries
  [48, 'refused'], // inappropriateAuthentication: the entry has no password
  [49, 'refused'], // invalidCredentials
  [50, 'refused'], // insufficientAccessRights
  [53, 'refused'], // unwillingToPerform: Active Directory, for accounts that may not sign in
  [16, 'missing'], // noSuchAttribute
  [32, 'missing'], // noSuchObject
  [51, 'unreachable'], // busy
  [52, 'unreachable'], // unavailable
])
