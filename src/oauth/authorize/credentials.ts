// A program that has the person's user name and password asks for tokens at the authorization endpoint, and gets them in
// the fragment. There is no browser and no session: cookies are not looked at, and every refusal is JSON.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../../identity/identity.ts'
import { mayUseGrant } from '../../model/client.ts'
import type { Client } from '../../model/client.ts'
import { parseLoginHint } from '../../model/login-hint.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/settings.ts'
import type { Form } from '../../web/form.ts'
import { EMPTY_FORM, parseForm } from '../../web/form.ts'
import { callerKey } from '../../web/limits.ts'
import type { Limits } from '../../web/limits.ts'
import { encodeForm, queryForm } from '../../web/query.ts'
import { bodyForm } from '../../web/route.ts'
import type { Approvals } from './approve.ts'
import type { People } from './person.ts'
import { findAsker, readAuthorizationRequest } from './request.ts'
import type { Passage, Resolved, ResponseDeps, Responses } from './response.ts'
import { acceptsTokens } from '../grants/passcode.ts'
import { NO_PROVIDER } from '../grants/password.ts'
import { refused } from '../grants/resource-owner.ts'
import { nextStep } from './next-step.ts'
import { readParams } from '../params.ts'
import { RedirectRefusal } from './respond.ts'

/** What direct requests need. */
export interface DirectCredentialsDeps extends ResponseDeps {
  readonly identity: Identity
  readonly limits: Limits
  readonly service: Service
  readonly settings: TokenSettings
  readonly people: People
  readonly approvals: Approvals
  readonly responses: Responses
}

/** Authorization requests that carry the person's credentials. */
export interface DirectCredentials {
  /** Whether the request is one, by what it says of itself; looks at no credential. */
  areIn(request: FastifyRequest): boolean
  /** Signs the person in for this request only, and answers it. */
  answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** Longer texts are no pair of a name and a password. */
const LONGEST_CREDENTIALS = 10_000

/** One instance serves every zone. */
export function createDirectCredentials(deps: DirectCredentialsDeps): DirectCredentials {
  const { identity, limits, clock, behaviour, people, approvals, responses } = deps

  /** Throws 401 for whoever is not let in; the client is known by then, so that nobody guesses passwords without one. */
  async function signIn(request: FastifyRequest, client: Client): Promise<Resolved> {
    const { zone, ip: remoteAddress } = request
    const body = bodyForm(request) ?? EMPTY_FORM
    const typed = credentialsOf(body)
    if (!typed) throw unauthorized('Request does not contain credentials.')
    const { userName } = typed
    const caller = callerKey(remoteAddress, zone.id, userName.toLowerCase())
    const { origin } = parseLoginHint(paramsOf(request).get('login_hint'))
    const result = await limits.wrongPasswords.attempt(
      caller,
      () => identity.signInWithPassword(zone, { ...typed, client, origin, remoteAddress }),
      ({ outcome }) => outcome === 'refused',
    )
    switch (result.outcome) {
      case 'no-provider':
        throw unauthorized(NO_PROVIDER[result.reason])
      case 'refused':
        throw unauthorized(refused(result, deps).message)
      case 'signed-in':
        return { user: result.user, amr: result.amr, authenticatedAt: clock.now() }
    }
  }

  async function decide(passage: Passage): Promise<FastifyReply> {
    const { request, form } = passage
    const { zone } = request
    const params = readParams(form)
    const asker = await findAsker(zone, params, deps)
    // Whoever sends a password just signed in, with the account that is meant.
    const { maxAge: _, ...asked } = readAuthorizationRequest(asker, params, { zone, behaviour })
    const authorization = { ...asked, forceLogin: false, chooseAccount: false }
    const { client, target } = authorization
    if (behaviour.credentialsNeedPasswordGrant && !mayUseGrant(client, 'password')) {
      // Before the password is looked at: who may not send one must not find out whether it is right.
      throw new RedirectRefusal(target, new OAuthError('unauthorized_client', 'Unauthorized grant type'))
    }
    const hinted = await people.hinted(authorization, passage)
    const person = await signIn(request, client)
    const signedIn = await people.describe(authorization, { person, hinted }, passage)
    const step = nextStep(authorization, signedIn, { now: clock.now(), behaviour })
    switch (step.kind) {
      case 'respond':
        return responses.grant(passage, authorization, { person, scopes: step.scopes })
      case 'approve':
        return approvals.ask(passage, authorization, step) // as JSON: the person approves in a browser, once
      case 'refuse':
        throw new RedirectRefusal(target, new OAuthError(step.error, step.description))
      case 'switch-provider':
        throw unauthorized('The application is not authorized for your account.')
      case 'sign-in':
      case 'choose-account':
        throw new RedirectRefusal(target, new OAuthError('login_required', 'The user must sign in'))
    }
  }

  return {
    areIn(request) {
      if (!acceptsTokens(request.headers.accept)) return false
      const form = paramsOf(request)
      if (!(form.get('response_type') ?? '').startsWith('token')) return false
      return form.get('source') === 'credentials' || (form.get('credentials') ?? '').startsWith('{')
    },

    async answer(request, reply) {
      // No browser: nobody sees a page, and whatever session a cookie names is not meant.
      request.headers.accept = 'application/json'
      delete request.headers.cookie
      reply.removeHeader('pragma').removeHeader('expires').header('cache-control', 'no-store')
      if (request.method !== 'POST') throw unauthorized('Credentials must be sent by (one of methods): [POST]')
      const form = paramsOf(request)
      const query = encodeForm(form, ['source', 'credentials'])
      const passage: Passage = { request, reply, form, query, silent: false, isDirect: true }
      try {
        return await decide(passage)
      } catch (error) {
        if (error instanceof RedirectRefusal) return responses.refuse(passage, error)
        throw error
      }
    },
  }
}

/** What goes no further than the sign-in. */
const SECRET = ['username', 'password']

/** UAA: a request's parameters are those of its URL and of its body; credentials are read from the body alone. */
function paramsOf(request: FastifyRequest): Form {
  const body = bodyForm(request)
  const query = queryForm(request)
  if (!body) return query
  return parseForm(`${encodeForm(query, SECRET)}&${encodeForm(body, SECRET)}`)
}

const unauthorized = (description: string): OAuthError => new OAuthError('unauthorized', description)

/** The JSON `credentials`, or the two fields; undefined for anything but two texts with something in them. */
function credentialsOf(body: Form): { userName: string; password: string } | undefined {
  const json = body.get('credentials')
  const [userName, password] =
    json === undefined ? [body.get('username'), body.get('password')] : membersOf(json.slice(0, LONGEST_CREDENTIALS))
  if (typeof userName !== 'string' || typeof password !== 'string') return undefined
  return userName === '' || password === '' ? undefined : { userName, password }
}

function membersOf(json: string): readonly [unknown, unknown] {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'object' || value === null) return [undefined, undefined]
    return [Reflect.get(value, 'username'), Reflect.get(value, 'password')]
  } catch {
    return [undefined, undefined] // is no pair of credentials, and is answered so
  }
}
