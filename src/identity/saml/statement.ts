// Reads a verified assertion, and checks that it is for us and for now (SAML Core §2, Profiles §4.1.4, RFC 7522 §3). Gets only
// elements whose signature was verified.
import type { KeyObject } from 'node:crypto'
import { addSeconds } from '../../base/clock.ts'
import { hasControlCharacter } from '../../base/text/control-characters.ts'
import { isStorable } from '../../base/text/storable-text.ts'
import { createDecryption } from './encryption.ts'
import { mismatchText, quoted, SamlProblem, timeAndNow } from './problem.ts'
import type { SamlReason } from './problem.ts'
import { childrenNamed, elementsOf, NAMESPACES } from './xml.ts'
import type { XmlElement } from './xml.ts'

/** What an assertion must match. */
export interface Expectation {
  readonly provider: { readonly entityId: string; readonly signingKeys: readonly KeyObject[] }
  /** Ours, which the audience must contain. */
  readonly ownEntityId: string
  readonly decryptionKeys: readonly KeyObject[]
  /** Absolute URL of the assertion consumer, or of the token endpoint's alias. */
  readonly recipient: string
  /** Id of our request; `any` does not look; `none`: it must not name one, because it is unsolicited. */
  readonly inResponseTo: { readonly id: string } | 'any' | 'none'
  /** Seconds that the sign-in at the provider may be ago. */
  readonly maxAuthenticationAge: number
  /** One of these classes must have been used. */
  readonly authnContext?: readonly string[]
  readonly now: Date
}

/** A verified assertion's content. */
export interface SamlStatement {
  readonly assertionId: string
  readonly issuedAt: Date
  /** When the assertion expires, for every caller. */
  readonly usableUntil: Date
  readonly nameId: SamlNameId
  readonly sessionIndex?: string
  /** The provider's session ends then at the latest (`SessionNotOnOrAfter`). */
  readonly sessionEndsAt?: Date
  /** Absent without an authentication statement, which only a bearer assertion may lack. */
  readonly authenticatedAt?: Date
  readonly authnContextClasses: readonly string[]
  readonly attributes: readonly SamlAttribute[]
}

/** SAML Core §2.2.3. */
export interface SamlNameId {
  readonly value: string
  readonly format?: string
  readonly nameQualifier?: string
  readonly spNameQualifier?: string
}

/** SAML Core §2.7.3.1. */
export interface SamlAttribute {
  readonly name: string
  readonly friendlyName?: string
  readonly values: readonly string[]
}

/** Accepted difference of clocks. */
export const SKEW_SECONDS = 60
/** Maximum age of an assertion, regardless of its own conditions: how long its id has to be stored. */
const MAX_AGE_SECONDS = 3000
const MAX_NAME_LENGTH = 255
const MAX_TEXT_LENGTH = 2048
/** Characters of formats and entity ids (SAML Core §8.3.6). */
const MAX_ADDRESS_LENGTH = 1024

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const ENTITY = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity'
const CONDITIONS: ReadonlySet<string> = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'])

const inAssertion = (parent: XmlElement, name: string): readonly XmlElement[] =>
  childrenNamed(parent, name, NAMESPACES.assertion)

/** How an assertion is read. */
interface Reading {
  readonly needsAuthentication: boolean
  /** The signed elements around it. */
  readonly around?: readonly XmlElement[]
}

/** Reads it; throws a `SamlProblem` for one that does not fit. */
export function readStatement(
  assertion: XmlElement,
  expected: Expectation,
  { needsAuthentication, around = [] }: Reading,
): SamlStatement {
  const { now } = expected
  if (assertion.attributes['Version'] !== '2.0') throw new SamlProblem('not-xml', 'it has another version')
  checkIssuer(assertion, expected.provider.entityId)
  const { ID: assertionId = '' } = assertion.attributes
  // A signature of the enclosing response need not name it, and it is known by its id when it comes again.
  if (!isShort(assertionId)) throw new SamlProblem('not-xml', 'its id is missing or too long')
  const issuedAt = instantOf(assertion, 'IssueInstant')
  if (!issuedAt) throw new SamlProblem('not-xml', 'it does not say when it was issued')
  const issued = `it was issued at ${timeAndNow(issuedAt, now)}`
  if (issuedAt > addSeconds(now, SKEW_SECONDS)) throw new SamlProblem('not-yet-valid', issued)
  if (addSeconds(issuedAt, MAX_AGE_SECONDS + SKEW_SECONDS) <= now) throw new SamlProblem('expired', issued)
  const subject = one(assertion, 'Subject', 'subject')
  const conditions = one(assertion, 'Conditions', 'condition')
  const until = checkConditions(conditions, expected)
  checkConfirmations(subject, expected)
  const { classes, ...authentication } = readAuthentication(assertion, expected, needsAuthentication)
  // Last, because it takes longest.
  const decrypted = createDecryption(expected.decryptionKeys)
  const inside = [...around, assertion]
  const nameId = nameIdOf(decrypted(subject, 'EncryptedID', inside))
  const statements = inAssertion(assertion, 'AttributeStatement').map(each =>
    decrypted(each, 'EncryptedAttribute', inside),
  )
  // Regardless of the confirmation that matched now: another one, for a later time or another endpoint, may match next.
  const latest = addSeconds(issuedAt, MAX_AGE_SECONDS)
  return {
    assertionId,
    issuedAt,
    usableUntil: addSeconds(until && until < latest ? until : latest, SKEW_SECONDS),
    nameId,
    authnContextClasses: classes,
    attributes: statements.flatMap(attributesOf),
    ...authentication,
  }
}

/** The issuer of an assertion or a message is the provider (SAML Profiles §4.1.4.2). */
export function checkIssuer(element: XmlElement, entityId: string): void {
  const issuer = one(element, 'Issuer', 'issuer')
  if (issuer.text !== entityId) throw new SamlProblem('issuer', `it is from ${mismatchText(issuer.text, entityId)}`)
  const { Format: format = ENTITY } = issuer.attributes
  if (format !== ENTITY) throw new SamlProblem('issuer', `its issuer has the format ${mismatchText(format, ENTITY)}`)
}

function one(parent: XmlElement, name: string, reason: SamlReason): XmlElement {
  const [found, second] = inAssertion(parent, name)
  if (!found || second) throw new SamlProblem(reason, `there must be exactly one ${name}`)
  return found
}

/** SAML Core §2.5.1. Returns the end, if there is one. */
function checkConditions(conditions: XmlElement, { now, ownEntityId }: Expectation): Date | undefined {
  const unknown = conditions.children.find(
    ({ name, namespace }) => namespace !== NAMESPACES.assertion || !CONDITIONS.has(name),
  )
  if (unknown) throw new SamlProblem('condition', `it has an unknown condition: ${quoted(unknown.name)}`)
  const restrictions = inAssertion(conditions, 'AudienceRestriction')
  const audiences = restrictions.map(restriction => inAssertion(restriction, 'Audience').map(uriOf))
  // Each has to be met (§2.5.1.4).
  const others = audiences.find(each => !each.includes(ownEntityId))
  if (audiences.length === 0 || others) {
    throw new SamlProblem('audience', `it is for ${mismatchText(others?.join(' '), ownEntityId)}`)
  }
  return checkPeriod(conditions, now)
}

/** A value of the type anyURI: white space around it does not count (XML Schema Part 2 §3.2.17). */
const uriOf = ({ text }: XmlElement): string => text.trim()

/** `NotBefore` and `NotOnOrAfter` of the element; returns the latter. */
function checkPeriod(element: XmlElement, now: Date): Date | undefined {
  const from = instantOf(element, 'NotBefore')
  const until = instantOf(element, 'NotOnOrAfter')
  if (from && from > addSeconds(now, SKEW_SECONDS)) {
    throw new SamlProblem('not-yet-valid', `it is valid from ${timeAndNow(from, now)}`)
  }
  if (until && addSeconds(until, SKEW_SECONDS) <= now) {
    throw new SamlProblem('expired', `it was valid until ${timeAndNow(until, now)}`)
  }
  return until
}

/** One bearer confirmation must match (SAML Profiles §4.1.4.2, RFC 7522 §3 item 5). */
function checkConfirmations(subject: XmlElement, expected: Expectation): void {
  const bearers = inAssertion(subject, 'SubjectConfirmation').filter(
    ({ attributes }) => attributes['Method'] === BEARER,
  )
  let problem = new SamlProblem('subject', 'it has no bearer confirmation')
  for (const confirmation of bearers) {
    try {
      return checkConfirmation(confirmation, expected)
    } catch (error) {
      if (!(error instanceof SamlProblem)) throw error
      problem = error
    }
  }
  throw problem
}

function checkConfirmation(confirmation: XmlElement, { recipient, inResponseTo, now }: Expectation): void {
  const data = one(confirmation, 'SubjectConfirmationData', 'subject')
  const { Recipient: to, InResponseTo: answers } = data.attributes
  if (to !== recipient) throw new SamlProblem('recipient', `it is for ${mismatchText(to, recipient)}`)
  checkInResponseTo(answers, inResponseTo)
  if (data.attributes['NotBefore'] !== undefined)
    throw new SamlProblem('subject', 'a bearer confirmation must not have NotBefore')
  if (!checkPeriod(data, now)) throw new SamlProblem('subject', 'its confirmation has no NotOnOrAfter')
}

/** SAML Profiles §4.1.4.3 and §4.1.5. */
export function checkInResponseTo(named: string | undefined, expected: Expectation['inResponseTo']): void {
  if (expected === 'any') return
  const wanted = expected === 'none' ? undefined : expected.id
  if (named !== wanted) throw new SamlProblem('in-response-to', 'it responds to another request')
}

interface Authentication extends Pick<SamlStatement, 'authenticatedAt' | 'sessionIndex' | 'sessionEndsAt'> {
  readonly classes: readonly string[]
}

/** SAML Core §2.7.2. The first statement is that of the session; each must be good. */
function readAuthentication(
  assertion: XmlElement,
  { now, authnContext, maxAuthenticationAge }: Expectation,
  isNeeded: boolean,
): Authentication {
  const statements = inAssertion(assertion, 'AuthnStatement')
  if (statements.length === 0 && isNeeded) throw new SamlProblem('subject', 'it does not say that a user signed in')
  const ends: Date[] = []
  const times = statements.map(statement => {
    const at = instantOf(statement, 'AuthnInstant')
    const until = instantOf(statement, 'SessionNotOnOrAfter')
    if (!at) throw new SamlProblem('subject', 'it has no time of the sign-in')
    if (at > addSeconds(now, SKEW_SECONDS))
      throw new SamlProblem('not-yet-valid', `the sign-in was at ${timeAndNow(at, now)}`)
    if (addSeconds(at, maxAuthenticationAge) <= now)
      throw new SamlProblem('expired', `the sign-in is too old: it was at ${timeAndNow(at, now)}`)
    if (until && addSeconds(until, SKEW_SECONDS) <= now)
      throw new SamlProblem('expired', `the session ended at ${timeAndNow(until, now)}`)
    if (until) ends.push(until)
    return at
  })
  const classes = statements.flatMap(statement =>
    inAssertion(statement, 'AuthnContext')
      .flatMap(context => inAssertion(context, 'AuthnContextClassRef'))
      .map(uriOf),
  )
  if (authnContext && authnContext.length > 0 && !classes.some(each => authnContext.includes(each))) {
    throw new SamlProblem('authn-context', `the user signed in by ${quoted(classes.join(' '))}`)
  }
  const [authenticatedAt] = times
  const sessionIndex = statements[0]?.attributes['SessionIndex']
  return {
    classes: classes.filter(each => isShort(each)),
    ...(authenticatedAt && { authenticatedAt }),
    ...(sessionIndex !== undefined && isUsableId(sessionIndex) && { sessionIndex }),
    // A session that ends within the clock tolerance is extended so that it outlasts the redirect.
    ...(ends.length > 0 && { sessionEndsAt: addSeconds(new Date(Math.min(...ends.map(Number))), SKEW_SECONDS) }),
  }
}

const isShort = (text: string): boolean => text !== '' && text.length <= MAX_NAME_LENGTH && !hasControlCharacter(text)

/** Characters of ids of messages and of sessions; a logout request names a session as the sign-in did. */
export const MAX_ID_LENGTH = 1024

/** Whether it is short enough to be stored as the id of a message or session. */
export const isUsableId = (text: string | undefined): text is string =>
  text !== undefined && text !== '' && text.length <= MAX_ID_LENGTH && isStorable(text)

/** The name of the user: with surrounding white space, other code could treat it as another name. */
export function nameIdOf(parent: XmlElement): SamlNameId {
  const { text: value, attributes, children } = one(parent, 'NameID', 'name-id')
  if (!isShort(value) || value !== value.trim() || children.length > 0) {
    throw new SamlProblem('name-id', 'the name is empty, too long or has invalid characters')
  }
  const { Format: format, NameQualifier: nameQualifier, SPNameQualifier: spNameQualifier } = attributes
  // They are kept with the session, for logout.
  if ([format, nameQualifier, spNameQualifier].some(each => (each ?? '').length > MAX_ADDRESS_LENGTH)) {
    throw new SamlProblem('name-id', 'the qualifiers of the name are too long')
  }
  return {
    value,
    ...(format !== undefined && { format }),
    ...(nameQualifier !== undefined && { nameQualifier }),
    ...(spNameQualifier !== undefined && { spNameQualifier }),
  }
}

/** Values are texts; one that is not, such as a nested name, counts by its text. */
function attributesOf(statement: XmlElement): readonly SamlAttribute[] {
  return inAssertion(statement, 'Attribute').map(attribute => {
    const { Name: name = '', FriendlyName: friendlyName } = attribute.attributes
    const values = inAssertion(attribute, 'AttributeValue').map(textWithin)
    return {
      name,
      values: values.filter(value => value.length <= MAX_TEXT_LENGTH),
      ...(friendlyName !== undefined && { friendlyName }),
    }
  })
}

/** Some providers write names within values, as `NameID` elements, with white space around. */
const textWithin = (value: XmlElement): string =>
  value.children.length === 0 ? value.text : [...elementsOf(value)].map(({ text }) => text.trim()).join('')

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

/** A time in UTC (SAML Core §1.3.3); undefined if the attribute is absent. Throws a `SamlProblem` for any other form. */
export function instantOf({ attributes }: XmlElement, name: string): Date | undefined {
  const text = attributes[name]
  if (text === undefined) return undefined
  const time = INSTANT.test(text) ? new Date(text) : undefined
  // `Date` parses 31 February as 3 March.
  const isReal = time && !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 10) === text.slice(0, 10)
  if (!isReal) throw new SamlProblem('not-xml', `${name} is not a time in UTC`)
  return time
}
