// The user in the body of a request, in UAA's form of SCIM 1: case-insensitive names; unknown members are refused, known ones
// that are not stored are accepted. Parses and checks types only; `wanted.ts` creates the user.
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Approval } from '../../model/users/approval.ts'
import { isKeepable, readMoment, UNKEEPABLE } from '../../records/kinds.ts'
import { checkLengths } from '../../users/rules.ts'
import { checkSchemas, isVersion } from '../resources/dialect.ts'
import { refuseResource } from '../../users/refusal.ts'

/** A user as sent in a request; members that it omits, or sends as null, are absent. */
export interface UserBody {
  readonly userName?: string
  readonly password?: string
  readonly name?: { readonly givenName?: string; readonly familyName?: string }
  readonly emails: readonly EmailInBody[]
  /** Without blank ones. */
  readonly phoneNumbers: readonly string[]
  readonly active?: boolean
  readonly verified?: boolean
  readonly origin?: string
  readonly externalId?: string
  readonly salt?: string
  readonly displayName?: string
  readonly aliasId?: string
  readonly aliasZid?: string
  readonly approvals: readonly ApprovalInBody[]
  readonly version?: number
  /** `meta.attributes`: what a PATCH clears. */
  readonly cleared: readonly string[]
}

/** An e-mail address; UAA stores no type. */
export interface EmailInBody {
  readonly value: string
  readonly primary?: boolean
}

/** An approval for a new user. */
type ApprovalInBody = Pick<Approval, 'clientId' | 'scope' | 'status'> & { readonly expiresAt?: Date }

const MAX_ENTRIES = 1000
const MAX_SCOPE_LENGTH = 255

const refuse = (message: string): Error => refuseResource('scim', message)

/** Accepted and not stored: the server's own members, and those without a column in UAA. */
export const IGNORED_MEMBERS = [
  'id',
  'zoneId',
  'groups',
  'passwordLastModified',
  'lastLogonTime',
  'previousLogonTime',
  'nickName',
  'profileUrl',
  'title',
  'userType',
  'preferredLanguage',
  'locale',
  'timezone',
] as const
const READ = [
  'schemas',
  'meta',
  'userName',
  'password',
  'name',
  'emails',
  'phoneNumbers',
  'active',
  'verified',
  'origin',
  'externalId',
  'salt',
  'displayName',
  'aliasId',
  'aliasZid',
  'approvals',
] as const
const NAMES: ReadonlySet<string> = new Set([...IGNORED_MEMBERS, ...READ].map(name => name.toLowerCase()))

/** Reads the body; throws `scim` for a member that is unknown or of another type. */
export function readUserBody(json: JsonRecord): UserBody {
  const body = new Members(json, '')
  checkSchemas(body.list('schemas'))
  const unknown = Object.keys(json).find(name => !NAMES.has(name.toLowerCase()))
  if (unknown !== undefined) throw refuse(`Unrecognized field "${shown(unknown)}"`)
  const name = body.members('name')
  const meta = body.members('meta')
  const [displayName, givenName, familyName] = [
    body.text('displayName'),
    name?.text('givenName'),
    name?.text('familyName'),
  ]
  const version = meta?.version()
  const texts = body.texts('userName', 'password', 'origin', 'externalId', 'salt', 'aliasId', 'aliasZid')
  const emails = body.objects('emails').map(emailOf)
  const phoneNumbers = body.objects('phoneNumbers').map(phone => phone.text('value') ?? '')
  // Also for members that a PATCH does not change: they are refused, not dropped silently.
  checkLengths({
    ...texts,
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
  })
  for (const { value } of emails) checkLengths({ email: value })
  for (const phoneNumber of phoneNumbers) checkLengths({ phoneNumber })
  return {
    ...texts,
    ...(displayName !== undefined && { displayName }),
    ...(name && {
      name: { ...(givenName !== undefined && { givenName }), ...(familyName !== undefined && { familyName }) },
    }),
    emails,
    phoneNumbers: phoneNumbers.filter(value => value.trim() !== ''),
    ...body.flags('active', 'verified'),
    approvals: body.objects('approvals').map(approvalOf),
    ...(version !== undefined && { version }),
    cleared: (meta?.list('attributes') ?? []).map(attribute => {
      if (typeof attribute !== 'string' || !isKeepable(attribute))
        throw refuse('The value of meta.attributes must be a list of strings')
      return attribute
    }),
  }
}

function emailOf(email: Members): EmailInBody {
  const { primary } = email.flags('primary')
  return { value: email.text('value') ?? '', ...(primary !== undefined && { primary }) }
}

function approvalOf(approval: Members): ApprovalInBody {
  const [clientId, scope, status] = [approval.text('clientId'), approval.text('scope'), approval.text('status')]
  if (!clientId || !scope || (status !== 'APPROVED' && status !== 'DENIED')) {
    throw refuse('An approval must have clientId, scope and a status of APPROVED or DENIED')
  }
  if (scope.length > MAX_SCOPE_LENGTH) throw refuse(`A scope must have at most ${MAX_SCOPE_LENGTH} characters`)
  const expiresAt = approval.moment('expiresAt')
  return { clientId, scope, status, ...(expiresAt && { expiresAt }) }
}

/** The members of an object by case-insensitive names; null counts as absent. */
class Members {
  readonly #values = new Map<string, unknown>()
  readonly #path: string

  constructor(json: JsonRecord, path: string) {
    this.#path = path
    for (const [name, value] of Object.entries(json)) {
      const key = name.toLowerCase()
      if (this.#values.has(key)) throw refuse(`The member ${path}${shown(name)} occurs twice`)
      this.#values.set(key, value ?? undefined)
    }
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name.toLowerCase())
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw this.#wrong(name, 'a string')
    if (!isKeepable(value)) throw refuse(`The value of ${this.#path}${name} ${UNKEEPABLE}`)
    return value
  }

  texts<const N extends string>(...names: readonly N[]): { readonly [K in N]?: string } {
    return Object.fromEntries(
      names.flatMap(name => {
        const value = this.text(name)
        return value === undefined ? [] : [[name, value]]
      }),
    ) as { readonly [K in N]?: string } // the names that are there
  }

  flags<const N extends string>(...names: readonly N[]): { readonly [K in N]?: boolean } {
    return Object.fromEntries(
      names.flatMap(name => {
        const value = this.#values.get(name.toLowerCase())
        if (value === undefined) return []
        // UAA takes the words, too.
        if (value !== true && value !== false && value !== 'true' && value !== 'false') {
          throw this.#wrong(name, 'a boolean')
        }
        return [[name, value === true || value === 'true']]
      }),
    ) as { readonly [K in N]?: boolean } // the names that are there
  }

  list(name: string): readonly unknown[] {
    const value = this.#values.get(name.toLowerCase()) ?? []
    if (!Array.isArray(value)) throw this.#wrong(name, 'a list')
    if (value.length > MAX_ENTRIES) throw refuse(`The value of ${this.#path}${name} has too many entries`)
    return value
  }

  objects(name: string): readonly Members[] {
    return this.list(name).map(entry => {
      if (!isJsonRecord(entry)) throw this.#wrong(name, 'a list of objects')
      return new Members(entry, `${this.#path}${name}.`)
    })
  }

  members(name: string): Members | undefined {
    const value = this.#values.get(name.toLowerCase())
    if (value === undefined) return undefined
    if (!isJsonRecord(value)) throw this.#wrong(name, 'an object')
    return new Members(value, `${this.#path}${name}.`)
  }

  /** A whole number that a version can begin with. */
  version(): number | undefined {
    const value = this.#values.get('version')
    if (value === undefined) return undefined
    if (isVersion(value)) return value
    throw this.#wrong('version', 'a version number')
  }

  /** A moment between 1970 and the year 9999: ISO 8601 with a zone, or milliseconds since 1970. */
  moment(name: string): Date | undefined {
    const value = this.#values.get(name.toLowerCase())
    if (value === undefined) return undefined
    const moment = readMoment(value)
    if (moment === undefined) throw this.#wrong(name, 'a date')
    return moment
  }

  #wrong(name: string, what: string): Error {
    return refuse(`The value of ${this.#path}${name} must be ${what}`)
  }
}

const shown = (name: string): string => name.slice(0, 100)
