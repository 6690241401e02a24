// Tokens that only one sender may use (RFC 7800): what a token request proves, and whether the presenter of a token proves the
// same. Each way is one file and one entry in the list.
import { createCache } from '../../base/cache.ts'
import type { Cache } from '../../base/cache.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Confirmation, ConfirmationMember } from '../../model/tokens/confirmation.ts'
import { confirmationIn } from '../../model/tokens/confirmation.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Protocol } from '../../model/zones/protocols.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { SentRequest, TokenPresentation } from '../../model/request.ts'
import type { ProofId } from '../../model/tokens/token.ts'
import type { Urls } from '../../model/urls.ts'
import type { Store } from '../../store/store.ts'
import type { DpopNonces } from './dpop-nonce.ts'
import type { ProofKey } from './dpop-proof.ts'
import { dpop, tokenByDpop, unusedProof } from './dpop.ts'
import { mutualTls } from './mutual-tls.ts'

/** Dependencies for verifying proofs. */
export interface SenderDeps {
  readonly store: Store
  readonly clock: Clock
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly nonces: DpopNonces
  readonly proofKeys: Cache<ProofKey>
}

/** Cached keys of proofs; each takes some kilobytes. */
const MAX_PROOF_KEYS = 1000

/** One way to prove who sends a request. */
export interface SenderProof {
  /** The member of `cnf` that it proves. */
  readonly member: ConfirmationMember
  readonly protocol: Protocol
  /** Whether the client's record requires this proof: without it the client gets no token, even if the zone disables the protocol. */
  isDemandedBy(client: Client): boolean
  /** Whether the request has a proof, even if the record does not require one. Must be cheap. */
  isOffered(request: SentRequest): boolean
  /** The thumbprint that a token request proves; undefined if it proves none and need not. Throws an `OAuthError`. */
  proven(asked: ProvingRequest, deps: SenderDeps): Promise<string | undefined>
  /** Checks that the token is presented by the sender that it is bound to. Throws an `OAuthError`. */
  check(request: SentRequest, bound: BoundToken, deps: SenderDeps): Promise<void>
}

/** A token request and its client. */
export interface ProvingRequest {
  readonly request: SentRequest
  readonly client: Client
  /** Returns a single-use proof unused, for a caller that consumes it together with the grant; see `unusedProof`. */
  readonly keepsProof?: boolean | undefined
}

/** A token, the thumbprint that it is bound to, and the client that it was issued to. */
interface BoundToken {
  readonly token: string
  readonly thumbprint: string
  readonly client: Client
}

/** A token, its claim `cnf`, and the client that it was issued to. */
interface PresentedToken {
  readonly token: string
  readonly cnf: unknown
  readonly client: Client
}

const SENDER_PROOFS: readonly SenderProof[] = [dpop, mutualTls]

/** Binds tokens to senders. */
export interface Senders {
  /** What the tokens of this request will be bound to; undefined for bearer tokens. Throws for a proof that is wrong or missing. */
  confirmationOf(asked: ProvingRequest): Promise<Confirmation | undefined>
  /** The proof that `confirmationOf` verified with `keepsProof`, to be consumed by the caller. */
  unusedProof(request: SentRequest): Promise<ProofId | undefined>
  /**
   * The key that must redeem the code of a pushed authorization request (RFC 9449 §10.1): the one that the request proves, or
   * names as `dpop_jkt`. Refuses a proof of another key than the named one.
   */
  keyOfPushed(request: SentRequest, client: Client, named: string | undefined): Promise<string | undefined>
  /** Refuses a token that is not presented by the sender it is bound to. */
  check(presentation: TokenPresentation, presented: PresentedToken): Promise<void>
}

/** Fails closed: a token bound to anything that cannot be checked is refused. */
export function createSenders(given: Omit<SenderDeps, 'proofKeys'>): Senders {
  const deps: SenderDeps = { ...given, proofKeys: createCache({ capacity: MAX_PROOF_KEYS }) }
  const { behaviour } = deps
  return {
    async confirmationOf(asked) {
      const { request, client } = asked
      const concerned = SENDER_PROOFS.filter(proof => {
        if (supportsProtocol(request.zone, proof.protocol, behaviour)) {
          return proof.isDemandedBy(client) || proof.isOffered(request)
        }
        if (proof.isDemandedBy(client)) throw unsupportedProof()
        return false
      })
      if (concerned.length === 0) return undefined
      const entries = await Promise.all(
        concerned.map(async proof => [proof.member, await proof.proven(asked, deps)] as const),
      )
      const proven = entries.filter(([, thumbprint]) => thumbprint !== undefined)
      return proven.length === 0 ? undefined : Object.fromEntries(proven)
    },

    unusedProof,

    async keyOfPushed(request, client, named) {
      if (request.headers['dpop'] === undefined || !supportsProtocol(request.zone, 'dpop', behaviour)) return named
      const proven = await dpop.proven({ request, client }, deps)
      if (named === undefined || named === proven) return proven
      throw new OAuthError('invalid_dpop_proof', 'The key of the proof is not that of dpop_jkt')
    },

    async check(presentation, { token, cnf, client }) {
      if ('inspected' in presentation) return
      const confirmation = confirmationIn(cnf)
      if (confirmation === 'unknown') throw otherSender()
      // RFC 9449 §7.1: a client that sends a proof relies on it, but this token would work without one.
      if (confirmation?.jkt === undefined && tokenByDpop(presentation) === token) {
        throw new OAuthError('invalid_token', 'The token is not bound to a key')
      }
      if (confirmation === undefined) return
      for (const [member, thumbprint] of Object.entries(confirmation)) {
        const proof = SENDER_PROOFS.find(each => each.member === member)
        if (!proof || !supportsProtocol(presentation.zone, proof.protocol, behaviour)) throw otherSender()
        await proof.check(presentation, { token, thumbprint, client }, deps)
      }
    },
  }
}

/** Fails closed: switching a protocol off must not turn bound tokens into bearer tokens. */
const unsupportedProof = (): OAuthError =>
  new OAuthError(
    { error: 'unauthorized_client', status: 400 },
    'The tokens of this client must be bound to it, but that is disabled in this zone',
  )

const otherSender = (): OAuthError => new OAuthError('invalid_token', 'The token is bound to another sender')
