// Client authentication by certificate (RFC 8705 §2): of an authority that the operator trusts, or one that the client has
// registered itself.
import { leadsToRoot } from '../../base/certificate-chain.ts'
import { namesIn, readForwardedCertificate } from '../../base/client-certificate.ts'
import type { ClientCertificate } from '../../base/client-certificate.ts'
import type { Client } from '../../model/client.ts'
import { isSubject, tlsMethodOf } from '../../model/mutual-tls.ts'
import type { TlsAuthMethod } from '../../model/mutual-tls.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { UnusableKeys } from '../../token/foreign-keys.ts'
import type { Attempt, ClientAuthDeps, ClientAuthMethod, ClientAuthRequest } from './method.ts'
import { none } from './none.ts'

/** Recognises a certificate beside a `client_id`; which method it is, the record of the client says. */
export const certificate: ClientAuthMethod = {
  name: 'tls_client_auth',
  recognises: isCertificateAlone,
  read: request => attemptBy('tls_client_auth', request),
  forClient(client, request) {
    const method = client && tlsMethodOf(client)
    if (method !== undefined) return methodNamed(method)
    // A client without a credential may have a certificate that its tokens are bound to (§4).
    return none.recognises({ ...request, certificate: undefined }) ? none : certificate
  },
}

const selfSigned: ClientAuthMethod = {
  name: 'self_signed_tls_client_auth',
  recognises: isCertificateAlone,
  read: request => attemptBy('self_signed_tls_client_auth', request),
}

const methodNamed = (name: TlsAuthMethod): ClientAuthMethod => (name === 'tls_client_auth' ? certificate : selfSigned)

/** A secret or an assertion counts instead, and the certificate only binds the tokens. */
function isCertificateAlone({ authorization, params, certificate: value }: ClientAuthRequest): boolean {
  return (
    value !== undefined &&
    authorization === undefined &&
    params.get('client_id') !== undefined &&
    params.raw('client_secret') === undefined &&
    (params.get('client_assertion') ?? params.get('client_assertion_type')) === undefined
  )
}

const attemptBy = (method: TlsAuthMethod, { params, certificate: value = '' }: ClientAuthRequest): Attempt => ({
  clientId: params.get('client_id') ?? '',
  claim: method,
  async verify(client, _from, deps) {
    if (!client || tlsMethodOf(client) !== method) return false
    const shown = readForwardedCertificate(value)
    if (!shown) throw refuse('the certificate cannot be read')
    const now = deps.clock.now()
    if (now < shown.validFrom || now > shown.validTo) throw refuse('the certificate is not valid at this time')
    if (!shown.isStrong) throw refuse('the key of the certificate is too short, or its hash is broken')
    if (!shown.isForClients) throw refuse('the certificate is not for clients')
    if (method === 'tls_client_auth') checkSubject(client, shown, deps)
    else await checkRegistered(client, shown, deps)
    return true
  },
})

/** As for a wrong secret; why is in the log. */
const refuse = (detail: string): OAuthError => new OAuthError('invalid_client', 'Bad credentials', { detail })

/** §2.1. Never left to the proxy: one that lets any certificate pass would let anybody write a subject. */
function checkSubject(client: Client, { raw }: ClientCertificate, { mutualTls, clock }: ClientAuthDeps): void {
  const roots = mutualTls?.trustedAuthorities ?? []
  if (roots.length === 0) throw refuse('mutual_tls.trusted_ca is not configured')
  if (!leadsToRoot([raw], roots, clock.now())) throw refuse('no trusted authority has issued the certificate')
  if (!isSubject(client, namesIn(raw))) throw refuse('the certificate has another subject')
}

/** §2.2: the certificate itself is registered, as `x5c` of a key. */
async function checkRegistered(
  { jwks, jwksUri, zoneId }: Client,
  { thumbprint }: ClientCertificate,
  { foreignKeys }: ClientAuthDeps,
): Promise<void> {
  const source = { jwks, jwksUri, share: { zoneId, purpose: 'background' } } as const
  const isKnown = await foreignKeys.hasCertificate(source, thumbprint).catch((cause: unknown) => {
    if (cause instanceof UnusableKeys) throw refuse(cause.message)
    throw cause
  })
  if (!isKnown) throw refuse('the certificate is not among those of the client')
}
