// Shared by tests of invitations: a server with inviting clients and providers with email domains, and requests.
import assert from 'node:assert/strict'
import { tokensOf } from './oauth.ts'
import type { ServerOptions, TestAnswer, TestRequest, TestServer } from './server.ts'
import { defaultBootstrap, startServer } from './server.ts'

/** Registered for the client `inviter`. */
export const APP_URL = 'https://app.example/welcome'
/** Of the zone `z1`. */
export const Z1 = 'z1.localhost:8080'

const program = (client_id: string, authorities: readonly string[], more: object = {}) => ({
  client_id,
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials', 'password', 'authorization_code'],
  authorities,
  scope: ['cloud.read', 'scim.invite'],
  redirect_uri: [APP_URL],
  ...more,
})

const oidc = (originKey: string, emailDomain: readonly string[], config: object = {}) => ({
  originKey,
  type: 'oidc1.0',
  name: originKey,
  config: {
    emailDomain,
    authUrl: 'https://corp.example/authorize',
    tokenUrl: 'https://corp.example/token',
    tokenKeyUrl: 'https://corp.example/keys',
    issuer: 'https://corp.example',
    relyingPartyId: 'us',
    relyingPartySecret: 'secret',
    ...config,
  },
})

/** One item of an answer. */
export interface InviteItem {
  readonly email: string
  readonly userId: string
  readonly origin: string
  readonly success: boolean
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly inviteLink: string
}

/** An answer. */
export interface InviteAnswer {
  readonly new_invites: readonly InviteItem[]
  readonly failed_invites: readonly InviteItem[]
}

/** How a request differs from that of the client `inviter`. */
export interface InviteRequest extends TestRequest {
  readonly client?: string
}

/** A server with its requests. */
export interface InviteApi {
  readonly server: TestServer
  tokenOf(client: string, host?: string): Promise<string>
  /** `POST /invite_users`, by default with the redirect URI of the client. */
  send(body: unknown, request?: InviteRequest): Promise<TestAnswer>
  /** The same for addresses, which must be answered 200. */
  invite(emails: readonly string[], request?: InviteRequest): Promise<InviteAnswer>
  /** The path of the one link, without the base URL, and its code. */
  linkFor(email: string, request?: InviteRequest): Promise<{ readonly path: string; readonly code: string }>
}

/** The bootstrap of `startInvitationServer`. */
export const inviteBootstrap = {
  ...defaultBootstrap,
  groups: [...defaultBootstrap.groups, { displayName: 'scim.invite' }, { displayName: 'svc.admin' }],
  clients: [
    ...defaultBootstrap.clients,
    program('inviter', ['scim.invite']),
    program('root', ['svc.admin']),
    program('writer', ['scim.write', 'oauth.login']),
    program('of-z1', ['zones.z1.scim.invite']),
    program('ours', [], { allowedproviders: ['svc'] }),
    program('theirs', [], { allowedproviders: ['corp', 'two-a'] }),
  ],
  users: [
    ...defaultBootstrap.users.map(user => ({ ...user, groups: ['cloud.read', 'scim.invite'] })),
    { userName: 'first', password: 'koala', emails: [{ value: 'dup@acc.org' }] },
    { userName: 'second', password: 'koala', emails: [{ value: 'Dup@acc.org' }] },
  ],
  identity_providers: [
    oidc('corp', ['corp.example']),
    oidc('two-a', ['two.example']),
    oidc('two-b', ['*.example.net', 'two.example']),
    { ...oidc('off', ['off.example']), active: false },
    { originKey: 'old', type: 'oauth2.0', name: 'Old', config: { emailDomain: ['saml.example'] } },
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        groups: [{ displayName: 'svc.admin' }],
        clients: [
          program('inviter', ['scim.invite']),
          program('alone', ['scim.invite']),
          program('root', ['svc.admin', 'scim.invite']),
        ],
      },
    },
  ],
}

/** Starts it; the test stops it. */
export async function startInvitationServer(options: ServerOptions = {}): Promise<InviteApi> {
  const server = await startServer({ ...options, config: { bootstrap: inviteBootstrap, ...options.config } })
  const tokenOf = async (client: string, host?: string): Promise<string> => {
    const form = { grant_type: 'client_credentials' }
    return tokensOf(await server.token(form, { basic: [client, 'secret'], ...(host !== undefined && { host }) }))
      .access_token
  }
  const send: InviteApi['send'] = async (body, { client = 'inviter', ...request } = {}) =>
    server.send('/invite_users', {
      method: 'POST',
      bearer: await tokenOf(client, request.host),
      query: { redirect_uri: APP_URL },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...request,
      headers: { 'content-type': 'application/json', ...request.headers },
    })
  const invite: InviteApi['invite'] = async (emails, request) => {
    const answer = await send({ emails }, request)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<InviteAnswer>()
  }
  return {
    server,
    tokenOf,
    send,
    invite,
    async linkFor(email, request) {
      const answer = await invite([email], request)
      const url = new URL(answer.new_invites[0]?.inviteLink ?? assert.fail(JSON.stringify(answer)))
      return { path: url.pathname + url.search, code: url.searchParams.get('code') ?? '' }
    },
  }
}
