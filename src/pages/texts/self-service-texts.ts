// The words of the pages and mails of self-service.
import type { Html } from '../../base/html.ts'

/** What a page is called in the window's title and, where it has one of its own, its heading. */
export interface Named {
  readonly title: string
  readonly heading: string
}
/** Pages on which users get an account and change it, and the mails about it. */
export interface SelfServiceTexts {
  readonly invitation: Named & {
    readonly lead: (email: Html) => Html
    /** Where the account is the user's already. */
    readonly agreeLead: (email: Html) => Html
    readonly otherAccount: (userName: Html) => Html
    readonly password: string
    readonly again: string
    readonly consent: (terms: Html) => Html
    readonly submit: string
    readonly agree: string
    /** Where the account is that of a directory. */
    readonly directory: {
      readonly heading: string
      readonly lead: (email: Html) => Html
      readonly userName: string
      readonly password: string
      readonly submit: string
    }
    readonly problems: Readonly<
      Record<
        | 'form_error'
        | 'missing_consent'
        | 'code_expired'
        | 'no_suitable_idp'
        | 'bad_credentials'
        | 'invite.email_mismatch',
        string
      >
    >
  }
  readonly signUp: Named & {
    readonly email: string
    readonly password: string
    readonly again: string
    readonly consent: (terms: Html) => Html
    readonly submit: string
    readonly joined: string
    readonly sent: string
    /** The same where the page knows the address. */
    readonly sentTo: (email: Html) => Html
    readonly sentNote: string
    readonly resend: string
    /** On the page that the mailed link leads to. */
    readonly verifyHeading: string
    readonly verifyLead: (email: Html) => Html
    readonly passwordLead: string
    readonly verify: string
    /** With a link that has the words beside it. */
    readonly expired: (link: Html) => Html
    readonly here: string
    readonly otherProvider: string
    readonly problems: Readonly<Record<SignUpProblem, string>>
  }
  readonly emailChange: Named & {
    readonly current: (email: Html) => Html
    readonly newEmail: string
    readonly submit: string
    readonly verifyHeading: string
    readonly verifyLead: (of: { readonly userName: Html; readonly email: Html }) => Html
    readonly otherAccount: (userName: Html) => Html
    readonly verify: string
  }
  readonly emailSent: Named & {
    /** By the codes of `/email_sent?code=`. */
    readonly leads: Readonly<Record<SentEmail, string>>
    /** The same where the page knows the name or address that was typed. */
    readonly leadsTo: Readonly<Record<SentEmail, (typed: Html) => Html>>
    readonly back: string
  }
  readonly forgottenPassword: Named & {
    readonly lead: string
    readonly submit: string
    /** Above the form where a link led that is no longer good. */
    readonly expired: string
    /** Above the new password. */
    readonly whose: (userName: Html) => Html
  }
  readonly changePassword: Named & { readonly current: string; readonly submit: string }
  readonly accountMails: Readonly<Record<AccountMail, AccountMailTexts>>
}

/** Why the sign-up failed. */
export type SignUpProblem = 'missing_consent' | 'invalid_email' | 'other_idp' | 'no_room' | 'wrong_password'

/** What `/email_sent` says was sent. */
export type SentEmail = 'reset_password' | 'email_change'

/** Mails about an account and its address. */
export type AccountMail =
  | 'resetPassword'
  | 'passwordElsewhere'
  | 'passwordChanged'
  | 'activate'
  | 'accountExists'
  | 'verifyNewEmail'
  | 'newEmailTaken'
  | 'emailChangeRequested'
  | 'emailChanged'

/** Their values: the address that it is about, and the one before. */
export interface AccountMailFacts {
  readonly email: string
  readonly former: string
}

/** The words of one of them. */
interface AccountMailTexts {
  readonly subject: string
  readonly lead: (of: AccountMailFacts) => string
  readonly button?: string
  readonly note: string
}
