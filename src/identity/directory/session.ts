// One connection to a directory, secured as configured, with bind, search and compare. The LDAP library costs 14 MB, so
// it is loaded on first use.
import type { Socket } from 'node:net'
import type { Client, Entry, Filter } from 'ldapts'
import type { OpenConnection } from '../../base/outbound.ts'
import { asMisconfigured, DirectoryError } from './directory-error.ts'
import { MessageStream } from './message-stream.ts'
import type { DirectoryFailure } from './directory-error.ts'
import type { DirectoryUrl } from '../../providers/directory-settings.ts'
import { secured } from './secured-connection.ts'
import type { TlsTrust } from './secured-connection.ts'
import { OBJECT_GUID } from '../../providers/directory-settings.ts'

/** An entry: its DN, and its string values by lower-case attribute name; attributes without one are left out. */
export interface DirectoryEntry {
  readonly dn: string
  /** The identifier that the directory gave the entry and never gives another; undefined if it shows none. */
  readonly uniqueId?: string
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

/** The parameters of a search. */
interface DirectorySearch {
  readonly base: string
  readonly scope: 'base' | 'one' | 'sub'
  /** Parsed by the library; without it, every entry matches. */
  readonly filter?: Filter
  readonly attributes: readonly string[]
  readonly sizeLimit: number
}

/** The result of a search. */
export interface DirectoryAnswer {
  readonly entries: readonly DirectoryEntry[]
  /** Whether the directory returned referrals to other directories. */
  readonly isPartial: boolean
}

/** A connection to a directory; throws only `DirectoryError`. */
export interface DirectorySession {
  /** Fails with `refused` for a wrong password. */
  bind(dn: string, password: string): Promise<void>
  search(search: DirectorySearch): Promise<DirectoryAnswer>
  /** Whether the entry has the value, compared by the directory. */
  compare(dn: string, attribute: string, value: string): Promise<boolean>
}

/** A session whose connection may be kept for later. */
export interface KeepableSession extends DirectorySession {
  readonly socket: Socket
  /** Nothing is expected until `wake`. */
  rest(): void
  /** Whether it can be used again. */
  wake(): boolean
  close(): void
}

/** RFC 4511 §4.14.1. */
const START_TLS = '1.3.6.1.4.1.1466.20037'

/** Connects; the caller of `open` ends the connection. */
export async function openSession(
  open: OpenConnection,
  { hostname, tls }: DirectoryUrl,
  trust: TlsTrust,
): Promise<KeepableSession> {
  const { Client: LdapClient } = await import('ldapts')
  const clientOn = (stream: MessageStream): Client => {
    let isTaken = false
    return new LdapClient({
      url: 'ldap://directory', // required, but unused: the connection exists
      createConnection: () => {
        // Prevents the library from reconnecting without a bind.
        if (isTaken || stream.destroyed) throw new Error('closed')
        isTaken = true
        // The stream implements what the library uses of a socket.
        return stream as unknown as Socket
      },
    })
  }
  const host = hostname.replace(/^\[|\]$/g, '')
  const connection = await open()
  let socket = connection
  if (tls === 'start-tls') {
    const stream = new MessageStream(socket)
    await asMisconfigured(
      'tlsConfiguration',
      translated(stream, () => clientOn(stream).exop(START_TLS)),
    )
    try {
      socket = stream.detach()
    } catch {
      throw new DirectoryError('unreachable', 'unexpected data after the response to StartTLS')
    }
  }
  // `skipSSLVerification` applies to ldaps only; with StartTLS the certificate is always verified.
  if (tls !== 'none')
    socket = await secured(socket, host, {
      ...trust,
      verifiesCertificate: tls === 'start-tls' || trust.verifiesCertificate,
    })
  const stream = new MessageStream(socket)
  const client = clientOn(stream)
  return {
    socket: connection,
    rest: () => stream.rest(),
    wake: () => stream.wake(),
    close() {
      stream.destroy()
      connection.destroy()
    },
    bind: (dn, password) => translated(stream, () => client.bind(dn, password)),
    async search({ base, scope, filter, attributes, sizeLimit }) {
      const options = {
        scope,
        attributes: [...attributes],
        explicitBufferAttributes: [OBJECT_GUID],
        sizeLimit,
        timeLimit: 5,
        ...(filter && { filter }),
      }
      const { searchEntries, searchReferences } = await translated(stream, () => client.search(base, options))
      if (stream.endedAtSizeLimit && searchEntries.length < sizeLimit)
        throw new DirectoryError('misconfigured', TRUNCATED)
      return { entries: searchEntries.map(readEntry), isPartial: searchReferences.length > 0 }
    },
    compare: (dn, attribute, value) => translated(stream, () => client.compare(dn, attribute, value)),
  }
}

/** The remaining entry may be one of several users, and some groups may be missing. */
const TRUNCATED = 'returned a part of the entries only, because of a size limit of its own'

function readEntry({ dn, ...attributes }: Entry): DirectoryEntry {
  const texts = Object.entries(attributes).flatMap(([name, value]) => {
    const values = [value].flat().filter(each => typeof each === 'string')
    return values.length > 0 ? [[name.toLowerCase(), values] as const] : []
  })
  const read = new Map(texts)
  const uniqueId = uniqueIdOf({ dn, ...attributes }, read)
  return { dn, ...(uniqueId !== undefined && { uniqueId }), attributes: read }
}

/** Translates the library's errors, which repeat the request; result codes are those of RFC 4511 appendix A.2. */
async function translated<T>(stream: MessageStream, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    const { ResultCodeError } = await import('ldapts')
    if (!(cause instanceof ResultCodeError)) {
      throw new DirectoryError('unreachable', stream.failure?.message ?? 'closed the connection')
    }
    const { code } = cause
    const { name, failure = 'misconfigured' } = RESULTS.get(code) ?? {}
    throw new DirectoryError(failure, `responded with result code ${code}${name ? ` (${name})` : ''}`)
  }
}

/** The results that directories give for wrong settings and refused users, by their names in RFC 4511. */
const RESULTS: ReadonlyMap<number, { readonly name: string; readonly failure?: DirectoryFailure }> = new Map([
  [2, { name: 'protocolError' }], // StartTLS at a directory without it
  [8, { name: 'strongerAuthRequired' }],
  [10, { name: 'referral' }],
  [13, { name: 'confidentialityRequired' }],
  [16, { name: 'noSuchAttribute', failure: 'missing' }],
  [19, { name: 'constraintViolation', failure: 'refused' }], // some directories, after too many tries
  [32, { name: 'noSuchObject', failure: 'missing' }],
  [34, { name: 'invalidDNSyntax' }],
  [48, { name: 'inappropriateAuthentication', failure: 'refused' }], // the entry has no password
  [49, { name: 'invalidCredentials', failure: 'refused' }],
  [50, { name: 'insufficientAccessRights', failure: 'refused' }],
  [51, { name: 'busy', failure: 'unreachable' }],
  [52, { name: 'unavailable', failure: 'unreachable' }],
  [53, { name: 'unwillingToPerform', failure: 'refused' }], // Active Directory, for accounts that may not sign in
])

/** The identifier of an entry that outlives its name and location; undefined without one, or if there are several. */
function uniqueIdOf(entry: Entry, attributes: ReadonlyMap<string, readonly string[]>): string | undefined {
  const guid = entry[OBJECT_GUID]
  const [id, second] = attributes.get('entryuuid') ?? [guidText(guid) ?? attributes.get('nsuniqueid')].flat()
  return id !== undefined && second === undefined && /^[0-9A-Fa-f-]{32,36}$/.test(id) ? id.toLowerCase() : undefined
}

/** Active Directory writes the first three parts with the least significant byte first. */
function guidText(value: unknown): string | undefined {
  if (!Buffer.isBuffer(value) || value.length !== 16) return undefined
  const parts = [
    value.subarray(0, 4).toReversed(),
    value.subarray(4, 6).toReversed(),
    value.subarray(6, 8).toReversed(),
  ]
  const rest = [value.subarray(8, 10), value.subarray(10)]
  return [...parts, ...rest].map(part => Buffer.from(part).toString('hex')).join('-')
}
