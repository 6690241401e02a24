// The workloads, one for each row of the report.
import type { Algorithm } from './accounts.ts'
import { obtainRefreshToken } from './browser.ts'
import { CORES } from './limits.ts'
import {
  proveAssertions,
  proveIntrospection,
  proveProofs,
  proveRevocation,
  proveRotation,
  proveSignIn,
  proveUserToken,
} from './proofs.ts'
import { expectFreshJwts, form, refuseWrongSecret, send, tokenOf } from './requests.ts'
import { browserJob, jwtRequest, opaqueRequest, personOf, tokenRequest, userTokenRequest } from './workload-requests.ts'
import type { Workload } from './workload.ts'

const P256_SIGNATURES: Workload['limit'] = {
  title: 'P-256 signatures',
  rate: ({ opensslEcdsaP256 }) => opensslEcdsaP256 && CORES * opensslEcdsaP256,
}

const P256_VERIFIED_SIGNATURES: Workload['limit'] = {
  title: 'P-256 verification + signature',
  rate: ({ opensslEcdsaP256: sign, opensslEcdsaP256Verify: verify }) =>
    sign && verify && CORES / (1 / sign + 1 / verify),
}

const OPAQUE = 'client_credentials opaque'
const FEW = 1000
const MANY = 1_000_000
const LARGE = 500_000
const codeFlowWith = (algorithm: Algorithm): string => `authorization_code flow, ${algorithm}`
const signInWith = (algorithm: Algorithm): string => `authorization_code flow with sign-in, ${algorithm}`
const introspectionWith = (tokens: number): string => `introspection with ${tokens} stored tokens`

/** The rows of the code flow with a session. */
export const CODE_FLOWS = [codeFlowWith('RS256'), codeFlowWith('ES256')] as const

/** The row of the code flow with tokens that are bound to a key. */
export const DPOP_CODE_FLOW = 'authorization_code flow, DPoP'

/** The row of the code flow with a request that was pushed. */
export const PUSHED_CODE_FLOW = 'authorization_code flow, PAR'

/** The row with both. */
export const PUSHED_DPOP_CODE_FLOW = 'authorization_code flow, PAR and DPoP'

/** The rows of the code flow with a sign-in in a new browser. */
export const SIGN_IN_FLOWS = [signInWith('RS256'), signInWith('ES256')] as const

/** The row of writes to a large table, whose tail latency counts. */
export const OPAQUE_AMONG_MANY = `${OPAQUE} with ${LARGE} stored tokens`

/** The two rows that compare many and few stored tokens, many first. */
export const INTROSPECTION_ROWS = [introspectionWith(MANY), introspectionWith(FEW)] as const

/** Every row, in the order of the report. */
export const WORKLOADS: readonly Workload[] = [
  {
    name: 'client_credentials RS256',
    signedBy: 'RS256',
    peer: true,
    limit: {
      title: 'RSA-2048 signatures',
      rate: ({ opensslRsa2048 }) => opensslRsa2048 && CORES * opensslRsa2048,
    },
    work: jwtRequest('RS256'),
  },
  {
    name: 'client_credentials ES256',
    signedBy: 'ES256',
    peer: true,
    limit: P256_SIGNATURES,
    work: jwtRequest('ES256'),
  },
  {
    name: 'client_credentials private_key_jwt',
    signedBy: 'ES256',
    peer: true,
    limit: P256_VERIFIED_SIGNATURES,
    work: {
      kind: 'flow',
      job: (endpoints, { signer, scope }) => ({ flow: 'private_key_jwt', endpoints, client: signer, scope }),
      prove: proveAssertions,
    },
  },
  {
    name: 'client_credentials DPoP',
    signedBy: 'ES256',
    peer: false,
    beside: 'client_credentials ES256',
    limit: P256_VERIFIED_SIGNATURES,
    work: {
      kind: 'flow',
      job: (endpoints, { service, scope }) => ({
        flow: 'client_credentials_dpop',
        endpoints,
        client: service.ES256,
        scope,
      }),
      prove: proveProofs,
    },
  },
  { name: OPAQUE, signedBy: 'RS256', peer: true, work: opaqueRequest() },
  { name: OPAQUE_AMONG_MANY, signedBy: 'RS256', peer: false, storedTokens: LARGE, work: opaqueRequest() },
  {
    name: 'introspection of an opaque token',
    signedBy: 'RS256',
    peer: true,
    work: {
      kind: 'request',
      async prepare(endpoints, accounts) {
        const token = await tokenOf(tokenRequest(endpoints, accounts, 'opaque'))
        return form(endpoints.introspection, { token }, accounts.resourceServer)
      },
      prove: proveIntrospection,
    },
  },
  { ...introspectionRow(FEW), peer: false },
  { ...introspectionRow(MANY), peer: false, beside: introspectionWith(FEW) },
  {
    name: 'revocation of an opaque token',
    signedBy: 'RS256',
    peer: true,
    work: {
      kind: 'flow',
      job: (endpoints, { service, scope }) => ({ flow: 'revocation', endpoints, client: service.opaque, scope }),
      prove: proveRevocation,
    },
  },
  {
    ...codeFlow('RS256'),
    limit: {
      title: 'RSA-2048 signatures / 2',
      rate: ({ opensslRsa2048 }) => opensslRsa2048 && (CORES * opensslRsa2048) / 2,
    },
  },
  codeFlow('ES256'),
  {
    name: DPOP_CODE_FLOW,
    signedBy: 'ES256',
    peer: false,
    beside: codeFlowWith('ES256'),
    work: { kind: 'flow', job: browserJob('authorization_code_dpop', 'ES256') },
  },
  {
    name: PUSHED_CODE_FLOW,
    signedBy: 'ES256',
    peer: false,
    beside: codeFlowWith('ES256'),
    work: { kind: 'flow', job: browserJob('authorization_code_pushed', 'ES256') },
  },
  {
    name: PUSHED_DPOP_CODE_FLOW,
    signedBy: 'ES256',
    peer: false,
    beside: codeFlowWith('ES256'),
    work: { kind: 'flow', job: browserJob('authorization_code_pushed_dpop', 'ES256') },
  },
  signInFlow('RS256'),
  signInFlow('ES256'),
  {
    name: 'refresh_token grant',
    signedBy: 'ES256',
    peer: true,
    limit: P256_SIGNATURES,
    work: {
      kind: 'request',
      async prepare(endpoints, accounts) {
        const { kept } = accounts.refreshing
        const token = await obtainRefreshToken(personOf('kept', endpoints, accounts))
        return form(endpoints.token, { grant_type: 'refresh_token', refresh_token: token }, kept)
      },
      async prove(request, endpoints) {
        const [payload] = await expectFreshJwts(() => tokenOf(request), endpoints, 'ES256')
        if (payload?.sub === payload?.['client_id']) throw new Error('the token has no user')
        await refuseWrongSecret(request)
      },
    },
  },
  {
    name: 'refresh_token grant, rotating',
    signedBy: 'ES256',
    peer: true,
    limit: P256_SIGNATURES,
    work: {
      kind: 'flow',
      job: (endpoints, accounts) => ({ flow: 'rotation', ...personOf('rotated', endpoints, accounts) }),
      prove: proveRotation,
    },
  },
  {
    name: 'user_token grant',
    signedBy: 'RS256',
    peer: false,
    beside: OPAQUE,
    work: { kind: 'request', prepare: userTokenRequest, prove: proveUserToken },
  },
  {
    name: 'password grant',
    signedBy: 'RS256',
    peer: false,
    limit: { title: 'argon2id hashes', rate: ({ argon2id }) => argon2id },
    work: {
      kind: 'flow',
      job: (endpoints, { console, user, scope }) => ({ flow: 'password', endpoints, client: console, user, scope }),
    },
  },
  {
    name: 'discovery',
    signedBy: 'RS256',
    peer: true,
    work: {
      kind: 'request',
      prepare: async ({ discovery }) => ({
        method: 'GET',
        url: discovery,
        headers: { accept: 'application/json' },
      }),
      async prove(request) {
        const { token_endpoint: token } = await send(request)
        if (typeof token !== 'string') throw new Error('no discovery document')
      },
    },
  },
]

/** Authorization request, code and exchange with a session: a signed access token and ID token. */
function codeFlow(algorithm: Algorithm): Workload {
  return {
    name: codeFlowWith(algorithm),
    signedBy: algorithm,
    peer: true,
    durablePeer: true,
    work: { kind: 'flow', job: browserJob('authorization_code', algorithm) },
  }
}

/** The same in a new browser, with the sign-in page and the password. */
function signInFlow(algorithm: Algorithm): Workload {
  return {
    name: signInWith(algorithm),
    signedBy: algorithm,
    peer: true,
    durablePeer: true,
    cheapHashes: true,
    work: { kind: 'flow', job: browserJob('sign_in', algorithm), prove: proveSignIn },
  }
}

function introspectionRow(storedTokens: number): Pick<Workload, 'name' | 'signedBy' | 'storedTokens' | 'work'> {
  return {
    name: introspectionWith(storedTokens),
    signedBy: 'RS256',
    storedTokens,
    work: {
      kind: 'request',
      async prepare(endpoints, { resourceServer }, tokens) {
        const { body: _, ...request } = form(endpoints.introspection, {}, resourceServer)
        return { ...request, bodies: tokens.map(token => new URLSearchParams({ token }).toString()) }
      },
      prove: proveIntrospection,
    },
  }
}
