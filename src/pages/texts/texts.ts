// The texts of all pages in each language. All catalogues have one type, so that a missing text does not compile. Values in a
// sentence are arguments of a function, so that each language can place them. To add a language, copy `en.ts` and follow
// the compiler.
import type { Html } from '../../base/html.ts'
import type { AccountEventType } from '../../model/users/account-event.ts'
import type { Language } from '../../model/language.ts'
import { scopeMeaning } from '../../model/tokens/scope-texts.ts'
import type { ScopeMeaning } from '../../model/tokens/scope-texts.ts'
import type { Service } from '../../model/service.ts'
import type { UserAgentTexts } from '../../model/users/user-agent.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { ja } from './ja.ts'
import { uaa } from './uaa.ts'
import { zh } from './zh.ts'
import type { Named, SelfServiceTexts } from './self-service-texts.ts'

export type * from './self-service-texts.ts'

/** The words of all pages in one language. */
export interface Texts extends SelfServiceTexts {
  /** Only in the catalogue of the reference system. */
  readonly reference?: ReferenceTexts
  /** The tag of BCP 47, for `lang` and Content-Language; more precise than the requested language where the script matters. */
  readonly tag: string
  readonly layout: {
    readonly skip: string
    readonly signOut: string
    /** With a time as from `moment`. */
    readonly lastSignIn: (time: Html) => Html
    /** The alternative to a picture that has no text. */
    readonly banner: string
  }
  readonly login: {
    readonly title: string
    readonly continueTo: (client: Html) => Html
    /** The labels of the fields that every zone has unless it says otherwise. */
    readonly username: string
    readonly password: string
    readonly submit: string
    readonly resetPassword: string
    readonly or: string
    readonly noSignInMethod: string
    /** With a link to create an account, which has the words beside it. */
    readonly newHere: (link: Html) => Html
    readonly createAccount: string
    readonly passkey: string
    /** After the button, when the user or the browser gave up. */
    readonly passkeyUnused: string
  }
  readonly discovery: {
    readonly heading: string
    readonly headingFor: (client: Html) => Html
    readonly account: string
    readonly next: string
    readonly back: string
    readonly byDefault: string
    readonly origin: string
    readonly byOrigin: string
  }
  /** By the codes of `/login?error=`, with a default for any other one. */
  readonly errors: Readonly<Record<SignInError | 'unknown', string>>
  /** By the codes of `/login?success=`, with a default for any other one. */
  readonly successes: Readonly<Record<SignInSuccess | 'unknown', string>>
  readonly approval: {
    readonly title: string
    readonly heading: (client: Html) => Html
    readonly choose: (userName: Html) => Html
    readonly thenReturn: (destination: Html) => Html
    readonly changeLater: string
    readonly deny: string
    readonly allow: string
    readonly allowedBefore: string
    readonly declinedBefore: string
    /** For a scope without which there is no sign-in. */
    readonly always: string
    /** For a client that no administrator created. */
    readonly selfRegistered: string
    readonly alsoReturns: (others: readonly Html[]) => Html
    /** For a client that is described by a document on this host. */
    readonly describedAt: (host: Html) => Html
    /** For such a client on the user's own device. */
    readonly runsHere: string
    /** Which APIs the access is for. */
    readonly forResources: (resources: readonly Html[]) => Html
    /** Texts of the links that a client registered about itself. */
    readonly links: Readonly<Record<'website' | 'policy' | 'terms', string>>
  }
  /** What an application may do that has the scope, as a line of a list. */
  readonly scopes: Readonly<Record<ScopeMeaning, string>>
  readonly accountChoice: Named & {
    readonly signedInAs: (userName: Html) => Html
    readonly another: string
    readonly continueAs: (userName: Html) => Html
  }
  readonly accountChooser: Named & {
    /** The provider at which an account signs in. */
    readonly via: (provider: Html) => Html
    readonly another: string
    readonly remove: string
  }
  readonly newPassword: Named & {
    readonly lead: (email: Html) => Html
    readonly password: string
    readonly again: string
    readonly submit: string
  }
  readonly profile: Named & {
    readonly userName: string
    readonly email: string
    readonly applications: string
    readonly noApplications: string
    readonly applicationsLead: string
    readonly update: string
    readonly revoke: string
    readonly sure: (client: Html) => Html
    readonly cancel: string
    readonly confirm: string
    readonly sessions: string
    readonly sessionsLead: string
    readonly thisSession: string
    /** Both as from `timeAgo`. */
    readonly times: (of: { readonly signedIn: Html; readonly lastSeen: Html }) => Html
    readonly signOut: string
    /** Read out after `signOut`, to distinguish the buttons. */
    readonly whichSession: (of: { readonly name: Html; readonly signedIn: Html }) => Html
    readonly signOutOthers: string
    /** By the codes of `/profile?error_message_code=`; any other one is answered as on the sign-in page. */
    readonly errors: Readonly<Record<ProfileError, string>>
    /** By the codes of `/profile?success_message_code=`. */
    readonly successes: Readonly<Record<ProfileSuccess, string>>
  }
  readonly browsers: UserAgentTexts
  /** Less than a minute ago. */
  readonly justNow: string
  readonly formPost: Named & {
    readonly lead: (client: Html) => Html
    /** On the way to another server. */
    readonly outbound: (host: Html) => Html
    readonly submit: string
  }
  readonly home: {
    readonly title: string
    readonly heading: (userName: Html) => Html
    readonly choose: string
    readonly empty: string
    readonly settings: string
  }
  readonly passcode: Named & {
    readonly lead: string
    readonly copy: string
    readonly copied: string
    readonly copiedAloud: string
    readonly selected: string
    readonly selectedAloud: string
    readonly warning: string
    readonly another: string
    readonly offer: (site: Html) => Html
    readonly offerWarning: string
    readonly get: string
  }
  readonly device: Named & {
    readonly lead: string
    /** The label of the field. */
    readonly code: string
    readonly next: string
    readonly unknown: string
    readonly refused: (client: Html) => Html
    readonly compare: (userName: Html) => Html
    /** The heading of the decision. */
    readonly decide: (client: Html) => Html
    readonly requested: string
    readonly address: string
    readonly program: string
    readonly asks: string
    readonly warning: string
    readonly allowed: Named & { readonly lead: (client: Html) => Html }
    readonly denied: Named & { readonly lead: (client: Html) => Html }
  }
  readonly signOut: Named & {
    readonly signedInAs: (who: { readonly site: Html; readonly userName: Html }) => Html
    readonly cancel: string
    readonly submit: string
  }
  readonly signedOut: Named & {
    readonly lead: (site: Html) => Html
    readonly again: string
    readonly goTo: (destination: Html) => Html
  }
  readonly error: {
    /** What happened, by the status. */
    readonly titles: {
      readonly unauthorized: string
      readonly forbidden: string
      readonly notFound: string
      readonly tooMany: string
      readonly unavailable: string
      readonly fault: string
      readonly other: string
      readonly wrong: string
      readonly notSignedIn: string
      readonly invalid: string
      /** After a failed sign-in at another provider. */
      readonly signInRefused: string
    }
    readonly status: (status: number) => string
    readonly start: string
    readonly again: string
    readonly switchTitle: string
    readonly switchDescription: (client: string) => string
    readonly switchAccount: string
    /** Above what only developers understand. */
    readonly details: string
    /** The message instead for users who hit an application's mistake. */
    readonly malformed: string
    /** The same for users who answer a question twice, or in an older window. */
    readonly answered: string
    /** The same for visitors of a host or path without a zone; the settings are named for the operator. */
    readonly unknownAddress: string
  }
  /** Descriptions of refusals that a user may well meet; the English ones are those that programs get. */
  readonly descriptions: Readonly<Record<TranslatedDescription, string>>
  /** The same with a value in them, such as a name or a number. */
  readonly descriptionsWith: Readonly<Record<TranslatedPattern, (what: string) => string>>
  readonly form: {
    /** The button that shows what is typed; pressed and not pressed. */
    readonly show: string
    /** Read out when it is pressed, and when it is pressed again. */
    readonly shown: string
    readonly concealed: string
  }
  /** The page of the account, beside `profile`. */
  readonly account: {
    readonly details: string
    readonly givenName: string
    readonly familyName: string
    readonly displayName: string
    readonly language: string
    /** The choice of no language. */
    readonly browserLanguage: string
    readonly save: string
    /** For names that are changed elsewhere. */
    readonly keptElsewhere: (provider: Html) => Html
    /** For accounts of the internal provider that users cannot change. */
    readonly keptByAdministrators: string
    readonly changeEmail: string
    readonly password: string
    readonly changePassword: string
    /** With how long ago. */
    readonly passwordSet: (when: Html) => Html
    /** With an IP address. */
    readonly from: (address: Html) => Html
    readonly signInMethods: string
    readonly ownPassword: string
    /** The same with a passkey that can be used alone. */
    readonly ownPasskey: string
    readonly provider: string
    readonly origin: string
    readonly externalId: string
    readonly events: string
    readonly eventsLead: string
    readonly noEvents: string
    readonly olderEvents: string
    readonly byOther: string
    readonly eventTypes: Readonly<Record<AccountEventType, string>>
  }
  /** Only in the playground. */
  readonly outbox: { readonly title: string; readonly lead: string; readonly empty: string }
}

/** What scripts look for on the reference system's pages where ours have something else, or nothing. */
interface ReferenceTexts {
  /** The operator's name in the default zone where no company is set. */
  readonly product: string
  readonly copyright: (year: number, company: string) => string
  /** Links in the menu of the signed-in user. */
  readonly menu: { readonly settings: string; readonly signOut: string }
  /** The heading of the sign-in page; the default zone has no name. */
  readonly welcome: (zoneName: string | undefined) => string
  readonly passwordAutocomplete: string
  readonly emailPlaceholder: string
  readonly userNamePlaceholder: string
  readonly discoveryPlaceholder: string
  /** The label of the user name where the zone has no words of its own. */
  readonly username: string
  /** Beside the name of a remembered account. */
  readonly origin: (origin: Html) => Html
  /** Where the default zone has a company: headings and a button of the pages that create an account. */
  readonly companyAccount: (company: string) => CompanyAccount
  /** In a disabled field of the page after a sign-up. */
  readonly activationSent: string
  /** A second heading of the approval page. */
  readonly clientHeading: (client: Html) => Html
  /** The second heading of an error page, which its alert comes before. */
  readonly subheading: (known: TranslatedDescription | TranslatedPattern | undefined) => string
}

/** Words that name the company that an account is with. */
export interface CompanyAccount {
  readonly create: string
  readonly link: string
  readonly submit: string
}

/** Why a sign-in failed, as codes for the sign-in page. */
type SignInError =
  | 'login_failure'
  | 'account_locked'
  | 'account_not_verified'
  | 'password_expired'
  | 'account_not_precreated'
  | 'passkey_refused'
  | 'passkey_needs_password'
  | 'invalid_login_request'
  | 'invalid_login_hint'
  | 'invalid_idp'
  | 'idp_not_found'

/** What was done before the sign-in page. */
type SignInSuccess = 'verify_success' | 'password_reset' | 'invite_accepted' | 'change_email_success'

/** Why an action on the account's page failed. */
type ProfileError =
  | 'request.invalid_parameter'
  | 'session.unknown'
  | 'details.invalid'
  | 'details.refused'
  | 'email_change.non-uaa-origin'
  | 'email_change.invalid_code'

/** What was done on the page of the account. */
type ProfileSuccess =
  | 'details.saved'
  | 'session.signed_out'
  | 'session.others_signed_out'
  | 'email_change.success'
  | 'access.changed'
  | 'access.revoked'
  | 'password.changed'

/** The descriptions that are translated. */
export type TranslatedDescription =
  | 'wrongCurrentPassword'
  | 'passwordElsewhere'
  | 'forged'
  | 'notFound'
  | 'turnedOff'
  | 'unknownZone'
  | 'tooManyAttempts'
  | 'tooManySignIns'
  | 'tooManyRequests'
  | 'databaseUnavailable'
  | 'fault'
  | 'badUrl'
  | 'longUrl'
  | 'badEncoding'
  | 'longBody'
  | 'longRequest'
  | 'notAcceptable'
  | 'missingClient'
  | 'nothingToApprove'
  | 'changedRequest'
  | 'unregisteredLogoutRedirect'
  | 'invalidHint'
  | 'foreignHint'
  | 'noRedirect'
  | 'general'
  | 'ownFault'
  | 'samlFailed'
  | 'oauthFailed'
  | 'malicious'
  | 'unsupportedRequest'
  | 'unverifiedLogout'
  | 'passwordMismatch'
  | 'passwordSame'
  | 'passwordCommon'
  | 'passwordOwnWords'
  | 'lostAttempt'
  | 'unstableName'
  | 'notSignedInAgain'
  | 'unreadableAnswer'
  | 'noProvider'
  | 'misconfigured'
  | 'notPrecreated'
  | 'unusableAccount'
  | 'sameEmail'
  | 'selfServiceOff'
  | 'missingField'
  | 'emailLinkExpired'
  | 'emailTaken'
  | 'badSignInCode'
  | 'otherAccount'
  | 'notInWindow'
  | 'invitedOther'
  | 'invitedTaken'

/** The descriptions that are translated around the value in them. */
export type TranslatedPattern =
  | 'tooManyAttemptsUntil'
  | 'unknownClient'
  | 'unregisteredRedirect'
  | 'repeatedParameter'
  | 'passwordShort'
  | 'passwordLong'
  | 'passwordUpper'
  | 'passwordLower'
  | 'passwordDigit'
  | 'passwordSpecial'
  | 'providerBadResponse'
  | 'providerUntrusted'
  | 'providerDeclined'
  | 'providerFails'
  | 'providerNeedsInput'
  | 'providerRefuses'

const CATALOGUES: Readonly<Record<Language, Texts>> = { en, de, fr, es, ja, zh }

/** The catalogue of a language. */
export const textsIn = (language: Language): Texts => CATALOGUES[language]

/** The catalogue with the words that clients of the reference system look for (row P4). */
export const referenceTexts: Texts = uaa

/** A plain sentence for a scope that is known everywhere; the scope itself for any other. */
export function scopeText(texts: Texts, scope: string, service: Service): string {
  const meaning = scopeMeaning(scope, service)
  return meaning === undefined ? scope : texts.scopes[meaning]
}

// `Object.entries` loses the key types of `Record`.
const NAMES = new Map(
  Object.entries(en.descriptions).map(([name, description]) => [description, name as TranslatedDescription]),
)
const GAP = '\u0000'
const PATTERNS = Object.entries(en.descriptionsWith).map(([name, sentence]) => {
  const [start = '', end = ''] = sentence(GAP).split(GAP)
  return { name: name as TranslatedPattern, start, end }
})

const patternOf = (description: string): (typeof PATTERNS)[number] | undefined =>
  PATTERNS.find(({ start, end }) => description.startsWith(start) && description.endsWith(end))

/** The name of an English description. */
export const nameOfDescription = (description: string): TranslatedDescription | TranslatedPattern | undefined =>
  NAMES.get(description) ?? patternOf(description)?.name

/** An English description in the language of the texts; undefined for one that is known in English only. */
export function translatedDescription(texts: Texts, description: string): string | undefined {
  const name = NAMES.get(description)
  if (name) return texts.descriptions[name]
  const pattern = patternOf(description)
  if (!pattern) return undefined
  const what = description.slice(pattern.start.length, description.length - pattern.end.length)
  return texts.descriptionsWith[pattern.name](
    pattern.name === 'tooManyAttemptsUntil' ? translatedTime(texts, what) : what,
  )
}

/** The English sentence for an attempt too many; true until then, because the time is rounded up. */
export const tooManyAttempts = (seconds: number): string =>
  en.descriptionsWith.tooManyAttemptsUntil(timeUntil(en, seconds))

/** How soon something is. */
function timeUntil(texts: Texts, seconds: number): string {
  if (seconds <= 90) return relativeTime(texts).format(Math.max(1, Math.ceil(seconds)), 'second')
  if (seconds <= 90 * 60) return relativeTime(texts).format(Math.ceil(seconds / 60), 'minute')
  return relativeTime(texts).format(Math.ceil(seconds / 3600), 'hour')
}

/** What `timeUntil` says in English, in the language of the texts. */
function translatedTime(texts: Texts, english: string): string {
  const [, count, unit] = /^in (\d+) (second|minute|hour)s?$/.exec(english) ?? []
  return unit === undefined ? english : relativeTime(texts).format(Number(count), unit as Intl.RelativeTimeFormatUnit) // one of the three
}

const relativeTimes = new Map<string, Intl.RelativeTimeFormat>()

function relativeTime({ tag }: Texts): Intl.RelativeTimeFormat {
  const known = relativeTimes.get(tag)
  if (known) return known
  const made = new Intl.RelativeTimeFormat(tag)
  relativeTimes.set(tag, made) // one for each catalogue
  return made
}

/** How long ago something was, from minutes to years: a page without script does not know the reader's time zone. */
export function timeAgo(texts: Texts, minutes: number): string {
  if (minutes < 1) return texts.justNow
  const format = relativeTime(texts)
  if (minutes < 60) return format.format(-minutes, 'minute')
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return format.format(-hours, 'hour')
  const days = Math.floor(hours / 24)
  if (days < 61) return format.format(-days, 'day')
  return days < 731
    ? format.format(-Math.floor(days / 30.5), 'month')
    : format.format(-Math.floor(days / 365.25), 'year')
}

const moments = new Map<string, Intl.DateTimeFormat>()

/**
 * A date with the time, in the language; in UTC, which is named in full, because a page without script does not know the reader's
 * time zone.
 */
export function moment({ tag }: Texts, at: Date): string {
  const known = moments.get(tag)
  if (known) return known.format(at)
  const made = new Intl.DateTimeFormat(tag, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone: 'UTC',
    timeZoneName: 'long',
  })
  moments.set(tag, made)
  return made.format(at)
}
