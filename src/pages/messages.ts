/** A sentence above the sign-in form. */
export interface Message {
  readonly kind: 'error' | 'success'
  readonly text: string
}

/** By the codes of `/login?error=` and `/login?success=`. */
const MESSAGES: Readonly<Record<Message['kind'], ReadonlyMap<string, string>>> = {
  error: new Map([
    ['login_failure', 'That did not match. Check your user name and password, then try again.'],
    [
      'account_locked',
      'Too many attempts failed, so this account is locked for a while. Wait a few minutes, then try again.',
    ],
    [
      'account_not_verified',
      'This account is not verified yet. Open the link in the email you were sent; if you cannot find it, ask for a new one.',
    ],
    ['password_expired', 'Your password has expired. Reset it to sign in.'],
    ['account_not_precreated', 'There is no account for you here yet. Ask your administrator to create one.'],
    [
      'invalid_login_request',
      'This page was open for too long, or your browser blocks its cookie. Allow cookies if they are off, then sign in again.',
    ],
    [
      'invalid_login_hint',
      'The application asked for a way to sign in that does not exist here. Use one of those below.',
    ],
    ['invalid_idp', 'Your account cannot be used with this application. Sign in with a different account.'],
    ['idp_not_found', 'That way to sign in is not available. Use another one.'],
  ]),
  success: new Map([
    ['verify_success', 'Your account is verified. Sign in to continue.'],
    ['password_reset', 'Your password is changed. Sign in with the new one.'],
    ['invite_accepted', 'You accepted the invitation. Sign in to continue.'],
    ['change_email_success', 'Your new email address is verified. Sign in to continue.'],
  ]),
}

/** The message for a code from the query, which itself is never shown: an unknown one gives `Error!` or `Success!`. */
export function messageFor(kind: Message['kind'], code: string): Message {
  return { kind, text: MESSAGES[kind].get(code) ?? (kind === 'error' ? 'Error!' : 'Success!') }
}

/** Every code that has a message of its own. */
export const messageCodes = (kind: Message['kind']): readonly string[] => [...MESSAGES[kind].keys()]
