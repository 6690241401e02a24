// The responses and reports of the assertion consumer for failed sign-ins.
import type { FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { SAML_NOT_PRECREATED } from '../../model/zones/identity-provider.ts'
import { originOf } from '../../web/requests/request-context.ts'
import type { Failure, Refused } from '../external/external-failures.ts'
import type { LoginDeps } from '../deps.ts'
import { resolveRedirectUri } from '../../clients/redirect-uri.ts'
import { mayUseGrant } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import { authorizationQuery } from '../sign-in/sign-in-target.ts'

/** For a message that is not a SAML response, or has a field twice. */
export const UNREADABLE: Failure = {
  status: 400,
  description: 'The response of your identity provider could not be read. Please start again.',
}
const NO_PROVIDER: Failure = {
  status: 404,
  description: 'That sign-in method is not available here. Please use another one.',
}

const OTHER_EMAIL = "SAML User email mismatch. Authenticated email doesn't match invited email."

/** Reports a response without a pending request, or from no provider, to the audit trail; `identity` reports all others. */
export function reportAnswer(
  request: FastifyRequest,
  { message, why, origin }: { readonly message: string; readonly why: string; readonly origin?: string },
  { audit }: Pick<LoginDeps, 'audit'>,
): void {
  audit({
    type: 'IdentityProviderAuthenticationFailure',
    zoneId: request.zone.id,
    principal: digest(message),
    authenticationType: 'saml',
    ...originOf(request),
    ...(origin !== undefined && { origin }),
    data: why,
  })
}

/** UAA: names the provider that sent the response, or to whose URL it was sent. */
export async function noProvider(
  { zone }: FastifyRequest,
  { issuer, alias }: { readonly issuer: string | undefined; readonly alias: string | undefined },
  { store, behaviour }: LoginDeps,
): Promise<Failure> {
  if (behaviour.ownWords) return NO_PROVIDER
  // From the cache: anyone can ask, and the records of a zone may have megabytes.
  const all = (await store.providers.listKnown(zone.id)).filter(({ type }) => type === 'saml')
  const disabled = all.find(({ active, externalKey }) => !active && externalKey !== undefined && externalKey === issuer)
  if (disabled) {
    const description = `Identity Provider has been disabled by administrator for alias:${disabled.originKey}`
    return { ...NO_PROVIDER, description }
  }
  const named = all.some(({ originKey }) => originKey === alias)
  return {
    ...NO_PROVIDER,
    description: `No SAML identity provider found in zone${named ? ` for alias:${alias}` : '.'}`,
  }
}

/** The response to a refusal, where UAA has a specific one. */
export async function failureOf(
  { zone }: FastifyRequest,
  { origin, result, path }: { readonly origin: string; readonly result: Refused; readonly path: string | undefined },
  deps: LoginDeps,
): Promise<Failure | string | undefined> {
  const { behaviour } = deps
  if (result.outcome === 'no-provider' && !behaviour.ownWords) {
    return { ...NO_PROVIDER, description: `No SAML identity provider found in zone for alias:${origin}` }
  }
  if (result.outcome !== 'refused') return undefined
  if (result.reason === 'not-precreated') {
    const url = await deniedUrl(zone, { path, description: SAML_NOT_PRECREATED }, deps)
    return url ?? (behaviour.ownWords ? undefined : { status: 403, description: SAML_NOT_PRECREATED })
  }
  if (result.reason !== 'not-invited' || behaviour.ownWords) return undefined
  return { status: 403, description: OTHER_EMAIL }
}

/**
 * The URL of the client that requested the authorization at this path, with `access_denied` (RFC 6749 §4.1.2.1). Undefined
 * unless the request is for a code and names a redirect URI that the authorization endpoint would answer to without a sign-in.
 */
async function deniedUrl(
  zone: AddressedZone,
  { path, description }: { readonly path: string | undefined; readonly description: string },
  { store, urls, behaviour, settings }: LoginDeps,
): Promise<string | undefined> {
  const query = authorizationQuery(path)
  const clientId = query?.get('client_id')
  const named = query?.get('redirect_uri')
  if (!query || clientId === undefined || named === undefined) return undefined
  if (['client_id', 'redirect_uri', 'state'].some(name => query.repeated.includes(name))) return undefined
  // Errors of other response types travel in another way.
  const mode = query.get('response_mode') ?? 'query'
  if (query.get('response_type') !== 'code' || (behaviour.responseModes && mode !== 'query')) return undefined
  const client = await store.clients.find(zone.id, clientId)
  // RFC 9700 §4.11.2: nobody has signed in, so nothing leads to an address that no administrator has seen.
  if (!client || client.registration || !mayUseGrant(client, 'authorization_code')) return undefined
  const rules = { exactRedirectUri: behaviour.exactRedirectUri, strictRedirects: settings.strictRedirects }
  const target = resolveRedirectUri(client, named, rules)
  if (target === undefined) return undefined
  const state = query.get('state')
  const parameters = new URLSearchParams({
    error: 'access_denied',
    error_description: description,
    ...(state !== undefined && { state }),
    ...(behaviour.issuerInResponse && { iss: urls.issuer(zone) }),
  })
  return `${target}${target.includes('?') ? '&' : '?'}${parameters.toString()}`
}
