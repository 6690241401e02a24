import { descriptionText, OAuthError } from '../model/oauth-error.ts'
import type { Rule } from '../model/rules.ts'

/** The refusal of a token by a rule; the detail is for the log. */
export const refuseToken = (rule: Rule, description: string, detail?: string): OAuthError =>
  new OAuthError('invalid_token', description, detail === undefined ? { rule } : { rule, detail })

/** The description for an opaque token without a row, and for one of another kind. */
export const GONE = 'The token expired, was revoked, or the token ID is incorrect.'

/** Shortens input that a description repeats. */
export const shown = (text: string): string => descriptionText(text.slice(0, 200))
