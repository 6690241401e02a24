// Client authentication by certificate (RFC 8705 §2): issued by a CA that the operator trusts, or registered by the client.
import { loadOnce } from '../../base/concurrency/load-once.ts'
import { tlsMethodOf } from '../../model/clients/mutual-tls.ts'
import type { TlsAuthMethod } from '../../model/clients/mutual-tls.ts'
import type { Attempt, ClientAuthMethod, ClientAuthRequest } from './method.ts'
import { none } from './none.ts'

const checks = loadOnce(() => import('./certificate-check.ts'))

/** Recognises a certificate with a `client_id`; the client's record says which method it is. */
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

/** A secret or an assertion takes precedence; the certificate then only binds the tokens. */
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
  clientAuthMethod: method,
  async verify(client, _from, deps) {
    if (!client || tlsMethodOf(client) !== method) return false
    const { checkCertificate } = await checks()
    await checkCertificate(value, { client, method }, deps)
    return true
  },
})
