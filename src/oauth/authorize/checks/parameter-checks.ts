// The checks of the parameters alone, independent of the user: of a request at the authorization endpoint, and of one that is
// pushed (RFC 9126 §2.1).
import { readKeyThumbprint, refuseUnboundTokens } from './bound-tokens.ts'
import type { AuthorizeContext } from '../context.ts'
import { readAcrValues } from '../demands.ts'
import type { Step } from '../next-step.ts'
import { readPrompt } from './prompt.ts'
import {
  readCodeChallenge,
  readResources,
  readResponseType,
  readScope,
  readTokenFormat,
  readTokenParameters,
  refuseRepeatedParameters,
  refuseUnsupported,
  requireGrantForType,
  requireIdentityProvider,
  requireNonce,
  requireOpenid,
  requireProfile,
} from './request.ts'
import { requireSource } from '../sources/sources.ts'
import { readIdTokenHint } from '../user/authenticated-user.ts'
import { requireRedirectGrant, verifyRedirectUri } from './target.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Adds its result to the context, returns a step that replaces the remaining checks, or throws a refusal. */
export type Check = (
  context: AuthorizeContext,
  deps: OAuthDeps,
) => Step | undefined | void | Promise<Step | undefined | void>

/** A check of parameters only; returns no step. */
type ParameterCheck = (context: AuthorizeContext, deps: OAuthDeps) => void | Promise<void>

/** What is asked for, the same in both modes. A new parameter adds its check here. */
const REQUESTED: readonly ParameterCheck[] = [
  readCodeChallenge,
  readKeyThumbprint,
  refuseUnboundTokens,
  readScope,
  requireProfile,
  readResources,
  readTokenFormat,
  readPrompt,
  readAcrValues,
]

/** `compatibility: standard`, once the client is known. */
export const STANDARD_PARAMETERS: readonly ParameterCheck[] = [
  verifyRedirectUri, // before it a refusal is a page, after it a redirect
  refuseRepeatedParameters,
  requireIdentityProvider,
  refuseUnsupported,
  requireSource,
  readResponseType,
  requireGrantForType,
  readTokenParameters,
  requireNonce,
  ...REQUESTED,
  requireOpenid,
  readIdTokenHint,
]

/** `compatibility: uaa`, once the redirect URI is verified; the authorization endpoint has another check in between. */
export const UAA_PARAMETERS: readonly ParameterCheck[] = [
  requireIdentityProvider,
  requireSource,
  readResponseType,
  readTokenParameters,
  ...REQUESTED,
]

/** The checks of a request that a client pushes. */
export const pushedChecks = ({ behaviour }: Pick<OAuthDeps, 'behaviour'>): readonly ParameterCheck[] =>
  behaviour.standardAuthorizeChecks ? STANDARD_PARAMETERS : [requireRedirectGrant, verifyRedirectUri, ...UAA_PARAMETERS]
