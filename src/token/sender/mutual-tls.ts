// Tokens that only the holder of a certificate may use (RFC 8705 §3).
import { loadOnce } from '../../base/concurrency/load-once.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { SentRequest } from '../../model/request.ts'
import type { SenderProof } from './sender.ts'

const certificates = loadOnce(() => import('../../base/certificates/client-certificate.ts'))

/** The thumbprint of the caller's certificate; undefined without one, and for one that cannot be read. */
async function thumbprintOf({ clientCertificate }: SentRequest): Promise<string | undefined> {
  if (clientCertificate === undefined) return undefined
  return (await certificates()).readForwardedCertificate(clientCertificate)?.thumbprint
}

/** By the certificate of the connection; a record says whether a client's tokens are bound. */
export const mutualTls: SenderProof = {
  member: 'x5t#S256',
  protocol: 'mutualTls',
  isDemandedBy: client => client.certificateBoundTokens === true,
  isOffered: () => false, // only the record decides: many clients send a certificate that is not meant for tokens

  async proven({ request }) {
    const thumbprint = await thumbprintOf(request)
    if (thumbprint !== undefined) return thumbprint
    throw new OAuthError('invalid_request', 'This client must send a certificate, to which its tokens are bound')
  },

  async check(request, { thumbprint }) {
    if ((await thumbprintOf(request)) === thumbprint) return
    throw new OAuthError('invalid_token', 'The token is bound to another certificate') // RFC 8705 §3
  },
}
