// DPoP (RFC 9449): tokens that are used together with a signature of the request by a key of the client.
import { loadOnce } from '../../base/load-once.ts'
import { digest } from '../../base/secrets.ts'
import { demandsOn } from '../../model/client-demands.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { SentRequest } from '../../model/request.ts'
import type { Proof } from './dpop-proof.ts'
import type { SenderDeps, SenderProof } from './sender.ts'

const proofs = loadOnce(() => import('./dpop-proof.ts'))

/** One request may be asked for its proof twice, as a token request that presents a token too, and has used it up once. */
const verified = new WeakMap<SentRequest['headers'], Promise<Proof>>()

/** Throws with the status of the endpoint: 400 where tokens are issued, 401 where they are used. */
async function proofOf(request: SentRequest, status: 400 | 401, deps: SenderDeps): Promise<Proof> {
  const { verifyProof, ProofProblem } = await proofs()
  const proof = verified.get(request.headers) ?? verifyProof(request, deps)
  verified.set(request.headers, proof)
  try {
    return await proof
  } catch (cause) {
    if (!(cause instanceof ProofProblem)) throw cause
    throw new OAuthError({ error: cause.error, status }, cause.message, { cause })
  }
}

const DPOP = /^dpop +/i

/** The token in `Authorization: DPoP` (RFC 9449 §7.1). */
export function tokenByDpop({ headers: { authorization } }: Pick<SentRequest, 'headers'>): string | undefined {
  if (typeof authorization !== 'string' || !DPOP.test(authorization)) return undefined
  return authorization.replace(DPOP, '').trim()
}

/** Whether the request has a proof, or a token that needs one. */
export const mentionsDpop = ({ headers }: Pick<SentRequest, 'headers'>): boolean =>
  headers['dpop'] !== undefined || tokenByDpop({ headers }) !== undefined

/** Binds tokens to the key of the header `DPoP`. */
export const dpop: SenderProof = {
  member: 'jkt',
  protocol: 'dpop',
  concerns: ({ headers }, client) => headers['dpop'] !== undefined || client.dpopBoundTokens === true,
  async proven(request, client, deps) {
    // §5.2: a client that uses DPoP always is not to be talked out of it.
    if (request.headers['dpop'] === undefined) {
      throw new OAuthError('invalid_request', 'This client must send a DPoP proof')
    }
    const { jkt, alg } = await proofOf(request, 400, deps)
    const { algorithms } = demandsOn(request.zone, client)
    const name = alg === 'Ed25519' ? 'EdDSA' : alg // RFC 9864: the same for this curve
    if (algorithms && !algorithms.some(each => each === name)) {
      throw new OAuthError('invalid_dpop_proof', `This client must sign with one of ${algorithms.join(', ')}`)
    }
    return jkt
  },
  async check(request, { token, thumbprint }, deps) {
    if (tokenByDpop(request) !== token) {
      throw new OAuthError('invalid_token', 'The token is bound to a key: send it by Authorization: DPoP, with a proof')
    }
    const { jkt, ath } = await proofOf(request, 401, deps)
    if (ath !== digest(token)) {
      throw new OAuthError({ error: 'invalid_dpop_proof', status: 401 }, 'The ath of the proof is not of this token')
    }
    if (jkt !== thumbprint) throw new OAuthError('invalid_token', 'The token is bound to another key')
  },
}
