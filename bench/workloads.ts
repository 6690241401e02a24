// The rows of the report: what each server is asked, and the proof that it did the work before and after it is timed.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { Accounts, Algorithm, BenchClient, TokenKind } from './accounts.ts'
import type { FlowJob } from './flows.ts'
import type { HttpRequest } from './load.ts'
import { CORES } from './limits.ts'
import type { Limits } from './limits.ts'

/** Where a server answers, as its discovery document says. */
export interface Endpoints {
  readonly discovery: string
  readonly token: string
  readonly authorization: string
  readonly introspection: string
  readonly keys: string
}

/** One row. `signedBy` is the key of the Latchkey instance it runs against; the peer holds both. */
export interface Workload {
  readonly name: string
  readonly signedBy: Algorithm
  /** False where the peer has no such feature. */
  readonly peer: boolean
  /** What no server on this machine can exceed, per second, and what that is. */
  readonly limit?: { readonly title: string; rate(limits: Limits): number | undefined }
  readonly work: RequestWork | FlowWork
}

/** A single request, repeated by the load tool. */
export interface RequestWork {
  readonly kind: 'request'
  /** Builds the request; may first ask for what it needs. */
  prepare(endpoints: Endpoints, accounts: Accounts): Promise<HttpRequest>
  /** Sends it by hand and throws unless the answers are right, and each one is made anew. */
  prove(request: HttpRequest, endpoints: Endpoints): Promise<void>
}

/** Several requests that build on one another, driven by `flows.ts`. */
export interface FlowWork {
  readonly kind: 'flow'
  job(endpoints: Endpoints, accounts: Accounts): FlowJob
}

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
    limit: {
      title: 'P-256 signatures',
      rate: ({ opensslEcdsaP256 }) => opensslEcdsaP256 && CORES * opensslEcdsaP256,
    },
    work: jwtRequest('ES256'),
  },
  {
    name: 'client_credentials opaque',
    signedBy: 'RS256',
    peer: true,
    work: {
      kind: 'request',
      prepare: async (endpoints, accounts) => tokenRequest(endpoints, accounts, 'opaque'),
      async prove(request) {
        const [first, second] = [await accessToken(request), await accessToken(request)]
        if (first.includes('.') || first === second) throw new Error('no fresh opaque token')
        await refuseWrongSecret(request)
      },
    },
  },
  {
    name: 'introspection of an opaque token',
    signedBy: 'RS256',
    peer: true,
    work: {
      kind: 'request',
      async prepare(endpoints, accounts) {
        const token = await accessToken(tokenRequest(endpoints, accounts, 'opaque'))
        return form(endpoints.introspection, { token }, accounts.resourceServer)
      },
      async prove(request) {
        const { active, client_id: clientId } = await send(request)
        if (active !== true || typeof clientId !== 'string') throw new Error('the token is not active')
        await refuseWrongSecret(request)
      },
    },
  },
  {
    name: 'authorization_code flow',
    signedBy: 'RS256',
    peer: true,
    limit: {
      title: 'RSA-2048 signatures / 2',
      rate: ({ opensslRsa2048 }) => opensslRsa2048 && (CORES * opensslRsa2048) / 2,
    },
    work: {
      kind: 'flow',
      job: (endpoints, { application, user, scope }) => ({
        flow: 'authorization_code',
        endpoints,
        client: application,
        user,
        scope: `openid ${scope}`,
        redirectUri: application.redirectUri ?? '',
      }),
    },
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

/** Reads a server's discovery document. */
export async function discover(baseUrl: string): Promise<Endpoints> {
  const discovery = `${baseUrl}/.well-known/openid-configuration`
  const document = await send({ method: 'GET', url: discovery, headers: { accept: 'application/json' } })
  const endpoint = (name: string): string => {
    const value = document[name]
    if (typeof value !== 'string') throw new Error(`${discovery} has no ${name}`)
    return value
  }
  return {
    discovery,
    token: endpoint('token_endpoint'),
    authorization: endpoint('authorization_endpoint'),
    introspection: endpoint('introspection_endpoint'),
    keys: endpoint('jwks_uri'),
  }
}

function jwtRequest(algorithm: Algorithm): RequestWork {
  return {
    kind: 'request',
    prepare: async (endpoints, accounts) => tokenRequest(endpoints, accounts, algorithm),
    async prove(request, endpoints) {
      const keys = createRemoteJWKSet(new URL(endpoints.keys))
      const ids = new Set<unknown>()
      for (const token of [await accessToken(request), await accessToken(request)]) {
        const { payload } = await jwtVerify(token, keys, { algorithms: [algorithm] })
        ids.add(payload.jti)
      }
      if (ids.size !== 2 || ids.has(undefined)) throw new Error('the tokens are not made anew')
      await refuseWrongSecret(request)
    },
  }
}

function tokenRequest(endpoints: Endpoints, accounts: Accounts, kind: TokenKind): HttpRequest {
  const fields = { grant_type: 'client_credentials', scope: accounts.scope }
  // The peer decides by the client and ignores token_format, but is sent the same bytes.
  const format = kind === 'opaque' ? { token_format: 'opaque' } : undefined
  return form(endpoints.token, { ...fields, ...format }, accounts.service[kind])
}

/** A form posted with the client's credentials (RFC 6749 §2.3.1). */
export function form(url: string, fields: Record<string, string>, client: BenchClient): HttpRequest {
  return {
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}`,
    },
    body: new URLSearchParams(fields).toString(),
  }
}

async function accessToken(request: HttpRequest): Promise<string> {
  const { access_token: token } = await send(request)
  if (typeof token !== 'string') throw new Error(`${request.url} answers no access token`)
  return token
}

async function send({ url, ...request }: HttpRequest): Promise<Record<string, unknown>> {
  const response = await fetch(url, request)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** A server that answers anybody would be fast for the wrong reason. */
async function refuseWrongSecret(request: HttpRequest): Promise<void> {
  const { authorization = '' } = request.headers
  const credentials = atob(authorization.slice('Basic '.length))
  const headers = { ...request.headers, authorization: `Basic ${btoa(`${credentials}x`)}` }
  const { status } = await fetch(request.url, { ...request, headers })
  if (status !== 401) throw new Error(`${request.url} answers ${status} to a wrong secret`)
}
