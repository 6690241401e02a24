// Verifies the certificate of a client (RFC 8705 §2). Loaded with the first one.
import { leadsToRoot } from '../../base/certificates/certificate-chain.ts'
import { namesIn, readForwardedCertificate } from '../../base/certificates/client-certificate.ts'
import type { ClientCertificate } from '../../base/certificates/client-certificate.ts'
import type { Client } from '../../model/clients/client.ts'
import { isSubject } from '../../model/clients/mutual-tls.ts'
import type { TlsAuthMethod } from '../../model/clients/mutual-tls.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { UnusableDocument } from '../../token/published-documents.ts'
import { outboundShareOf } from '../outbound-share.ts'
import type { ClientAuthDeps } from './method.ts'

/** Throws `invalid_client` for a certificate that is not the client's. */
export async function checkCertificate(
  value: string,
  { client, method }: { readonly client: Client; readonly method: TlsAuthMethod },
  deps: ClientAuthDeps,
): Promise<void> {
  const shown = readForwardedCertificate(value)
  if (!shown) throw refuse('the certificate cannot be read')
  const now = deps.clock.now()
  if (now < shown.validFrom || now > shown.validTo) throw refuse('the certificate is not valid at this time')
  if (!shown.isStrong) throw refuse('the key of the certificate is too short, or its hash algorithm is insecure')
  if (!shown.isForClients) throw refuse('the certificate does not allow client authentication')
  if (method === 'tls_client_auth') checkSubject(client, shown, deps)
  else await checkRegistered(client, shown, deps)
}

/** The same refusal as for a wrong secret; the reason is in the log. */
const refuse = (detail: string): OAuthError => new OAuthError('invalid_client', 'Bad credentials', { detail })

/** §2.1. Never left to the proxy: one that accepts any certificate would let every caller choose a subject. */
function checkSubject(client: Client, { raw }: ClientCertificate, { mutualTls, clock }: ClientAuthDeps): void {
  const roots = mutualTls?.trustedAuthorities ?? []
  if (roots.length === 0) throw refuse('mutual_tls.trusted_ca is not configured')
  if (!leadsToRoot([raw], roots, clock.now())) throw refuse('no trusted authority has issued the certificate')
  if (!isSubject(client, namesIn(raw))) throw refuse('the certificate has another subject')
}

/** §2.2: the certificate itself is registered, as `x5c` of a key. */
async function checkRegistered(
  client: Client,
  { thumbprint }: ClientCertificate,
  { foreignKeys }: ClientAuthDeps,
): Promise<void> {
  const { jwks, jwksUri } = client
  const source = { jwks, jwksUri, share: outboundShareOf(client, 'background') }
  const isKnown = await foreignKeys.hasCertificate(source, thumbprint).catch((cause: unknown) => {
    if (cause instanceof UnusableDocument) throw refuse(cause.message)
    throw cause
  })
  if (!isKnown) throw refuse('the certificate is not among those of the client')
}
