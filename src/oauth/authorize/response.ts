// What a decided authorization request is answered with: codes and tokens, and how they travel.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import type { Authorization, TokenKind } from '../../model/authorization.ts'
import { displayName } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { GrantedScopes } from '../../model/scopes.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/user.ts'
import type { Zone } from '../../model/zone.ts'
import { formPostPage } from '../../pages/form-post.ts'
import type { Store } from '../../store/store.ts'
import type { TokenIssuer, TokenResponse } from '../../token/issuer.ts'
import { rememberCodeUntil } from '../../token/lifetimes.ts'
import type { VerifiedToken } from '../../token/reader.ts'
import { revocationSignature } from '../../token/revocation-signature.ts'
import { plainDescription } from '../../web/answers.ts'
import type { Form } from '../../web/form.ts'
import type { PageWriter } from '../../web/pages.ts'
import type { Sessions } from '../../web/session.ts'
import type { AuthorizationRequest } from './request.ts'
import { RedirectRefusal, bareLocation, errorMode, locationFor } from './respond.ts'
import type { ResponseParameters, ResponseTarget } from './respond.ts'
import { grantsAllowInUaa } from './response-type.ts'
import type { ResponseMode, ResponseType } from './response-type.ts'
import { sessionState } from '../session-state.ts'

/** What answering needs. */
export interface ResponseDeps {
  readonly store: Store
  readonly issuer: TokenIssuer
  readonly sessions: Sessions
  readonly pages: PageWriter
  readonly clock: Clock
  readonly random: Random
  readonly urls: Urls
  readonly behaviour: Behaviour
}

/** For whom an answer is made: the person, and how they signed in. */
export interface Resolved {
  readonly user: User
  readonly authenticatedAt: Date
  readonly amr: readonly string[]
  /** The `sid` of the browser session for this client; absent where a token stood for the person. */
  readonly sessionId?: string
}

/** One request on its way through the endpoint. */
export interface Passage {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The parameters, and the same as a query: what the browser comes back with. */
  readonly form: Form
  readonly query: string
  readonly silent: boolean
  /** What the person answered on the approval page a moment ago. */
  readonly answer?: Form
  /** Whether the request itself proved who is there: then there is no browser either. */
  readonly isDirect?: true
  /** The token that stands for the person; then there is no browser: no session, no cookie, nobody to see a page. */
  readonly bearer?: VerifiedToken
}

/** Makes and sends authorization responses. */
export interface Responses {
  /** Issues what was asked for, and sends it. */
  grant(
    passage: Passage,
    authorization: AuthorizationRequest,
    to: { readonly person: Resolved; readonly scopes: GrantedScopes },
  ): Promise<FastifyReply>
  /** Tells the client that nothing comes of it. */
  refuse(passage: Passage, refusal: RedirectRefusal): Promise<FastifyReply>
}

/** What was decided, and the session that learns with the code which client was answered. */
interface Granted {
  readonly person: Resolved
  readonly scopes: GrantedScopes
  readonly answering: string | undefined
}

const CODE_LENGTH = 32

/** One instance serves every zone. */
export function createResponses(deps: ResponseDeps): Responses {
  const { store, issuer, sessions, pages, clock, random, urls, behaviour } = deps

  async function issueCode(
    zone: Zone,
    authorization: AuthorizationRequest,
    { person, scopes, grantId, answering }: Granted & { readonly grantId: string },
  ): Promise<string> {
    const { client } = authorization
    const code = random.urlSafe(CODE_LENGTH)
    const now = clock.now()
    await store.codes.insert(
      zone.id,
      {
        zoneId: zone.id,
        codeDigest: digest(code),
        clientId: client.clientId,
        userId: person.user.id,
        scopes,
        authenticatedAt: person.authenticatedAt,
        amr: person.amr,
        grantId,
        revocationSignature: revocationSignature(client, person.user),
        expiresAt: addSeconds(now, behaviour.codeSeconds),
        keptUntil: rememberCodeUntil(zone, client, now, behaviour),
        ...(person.sessionId !== undefined && { sessionId: person.sessionId }),
        ...(authorization.namedRedirectUri !== undefined && { redirectUri: authorization.namedRedirectUri }),
        ...(authorization.codeChallenge !== undefined && { codeChallenge: authorization.codeChallenge }),
        ...(authorization.codeChallengeMethod && { codeChallengeMethod: authorization.codeChallengeMethod }),
        ...(authorization.nonce !== undefined && { nonce: authorization.nonce }),
        ...(authorization.tokenFormat && { tokenFormat: authorization.tokenFormat }),
        ...(authorization.azAttr && { azAttr: authorization.azAttr }),
      },
      answering,
    )
    return code
  }

  /** The parameters of a success, in the order of the specification but for those that every response has. */
  async function issue(
    { zone, ip: remoteAddress }: FastifyRequest,
    authorization: AuthorizationRequest,
    { person, scopes, answering }: Granted,
  ): Promise<ResponseParameters> {
    const { client, target, responseType, namedScopes, nonce, tokenFormat, azAttr } = authorization
    // One id for all: the second use of the code revokes what came beside it as well (row T11).
    const grantId = random.hex(16)
    const code = responseType.has('code')
      ? await issueCode(zone, authorization, { person, scopes, grantId, answering })
      : undefined
    const tokens = tokensOf(responseType)
    if (tokens.length === 0) return { code, state: target.state }
    const { user, authenticatedAt, amr, sessionId } = person
    const decided: Authorization = {
      zone,
      client,
      grantType: responseType.has('code') ? 'authorization_code' : 'implicit',
      subject: { kind: 'user', user, authenticatedAt, amr, ...(sessionId !== undefined && { sessionId }) },
      scopes,
      tokens,
      grantId,
      ...(code !== undefined && { code }),
      ...(nonce !== undefined && { nonce }),
      ...(tokenFormat && { format: tokenFormat }),
      ...(azAttr && { azAttr }),
    }
    const issued = await issuer.issue(decided, remoteAddress)
    const isAsAsked = namedScopes.length === scopes.length && scopes.every(scope => namedScopes.includes(scope))
    return {
      token_type: issued.token_type,
      access_token: issued.access_token ?? undefined,
      id_token: issued.id_token,
      code,
      state: target.state,
      expires_in: String(issued.expires_in),
      scope: isAsAsked ? undefined : issued.scope, // RFC 6749 §4.2.2
      nonce: issued.nonce,
      jti: issued.jti,
      az_attr: mapText(issued.az_attr),
    }
  }

  async function send(
    { request, reply }: Passage,
    target: ResponseTarget,
    { mode, parameters }: { mode: ResponseMode; parameters: ResponseParameters },
  ): Promise<FastifyReply> {
    if (mode !== 'form_post') return reply.redirect(locationFor(target.redirectUri, mode, parameters), 302)
    const fields = Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    )
    const client = await store.clients.find(request.zone.id, target.clientId)
    const page = formPostPage(await pages.chrome(request, reply), {
      clientName: client ? displayName(client) : target.clientId,
      action: target.redirectUri,
      fields: Object.fromEntries(fields),
    })
    return pages.send(reply, page)
  }

  /** What every response carries in `standard`: `session_state` (row R6) and `iss` (row R5, RFC 9207 §2). */
  function common(
    { request, bearer, isDirect }: Passage,
    target: ResponseTarget,
    uaaHasState: boolean,
  ): ResponseParameters {
    const withState = !bearer && !isDirect && (behaviour.sessionState || uaaHasState)
    return {
      session_state: withState ? sessionState({ ...target, userId: request.person?.id }, random) : undefined,
      iss: behaviour.issuerInResponse ? urls.issuer(request.zone) : undefined,
    }
  }

  return {
    async grant(passage, authorization, to) {
      const { request, reply, silent, bearer, isDirect } = passage
      const { client, target, responseType } = authorization
      if (!behaviour.checkGrantFirst && !grantsAllowInUaa(client, responseType)) {
        const refusal = new OAuthError('invalid_client', 'Unauthorized grant type')
        throw new RedirectRefusal(target, refusal, 'fragment')
      }
      if (to.scopes.length === 0 && tokensOf(responseType).length > 0) {
        // UAA: finds out when it makes the token, which for a code is later. See docs/compatibility.md, R3.
        throw new RedirectRefusal(target, new OAuthError('invalid_token', 'No scopes were granted'), 'fragment')
      }
      // No client has an answer that the session does not know of.
      const answering = bearer || isDirect ? undefined : await sessions.lacksClient(request, client.clientId)
      const isTold = answering === undefined || responseType.has('code')
      if (!isTold) await store.sessions.addClient(request.zone.id, answering, client.clientId)
      const issued = await issue(request, authorization, { ...to, answering })
      if (silent && !bearer) sessions.setCurrentUser(reply, to.person.user.id)
      const shared = common(passage, target, silent && target.mode === 'fragment')
      return send(passage, target, { mode: target.mode, parameters: { ...issued, ...shared } })
    },

    async refuse(passage, { target, refusal, mode }) {
      const { request, reply, silent, bearer } = passage
      const isNobody = request.person === undefined && !bearer
      if (silent && refusal.error === 'login_required' && isNobody) sessions.setCurrentUser(reply, undefined)
      // A new password is due: told as a missing sign-in is, unlike the approval that has the same code (row R7).
      const isLikeSignIn = refusal.error === 'interaction_required' && mode !== undefined
      const shared = common(passage, target, silent && (refusal.error === 'login_required' || isLikeSignIn))
      if (isLikeSignIn)
        return reply.redirect(locationFor(target.redirectUri, mode, { error: refusal.error, ...shared }), 302)
      const bare = silent && !behaviour.usualSilentErrors ? bareLocation(target, refusal.error, shared) : undefined
      if (bare !== undefined) return reply.redirect(bare, 302)
      const parameters = {
        error: refusal.error,
        error_description: plainDescription(refusal.message, behaviour),
        state: target.state,
        ...refusal.extra,
        ...shared,
      }
      return send(passage, target, { mode: mode ?? errorMode(target, behaviour), parameters })
    },
  }
}

function tokensOf(type: ResponseType): readonly TokenKind[] {
  return [
    ...(type.has('token') ? (['access_token'] as const) : []),
    ...(type.has('id_token') ? (['id_token'] as const) : []),
  ]
}

/** UAA: attributes in a response of this endpoint are written like `{k=v, l=w}`. */
function mapText(attributes: TokenResponse['az_attr']): string | undefined {
  if (!attributes) return undefined
  return `{${Object.entries(attributes)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')}}`
}
