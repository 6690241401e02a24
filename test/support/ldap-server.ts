// A server whose default zone has a directory, and changes of the directory's content.
import assert from 'node:assert/strict'
import { Client } from 'ldapts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { User } from '../../src/model/users/user.ts'
import { APP, tokensOf } from './oauth.ts'
import type { ServerOptions, TestAnswer, TestServer } from './server.ts'
import { defaultBootstrap, startServer } from './server.ts'
import type { Slapd } from './slapd.ts'
import { ACCOUNT, PASSWORD, PEOPLE } from './slapd.ts'

/** Settings of a provider. */
export type LdapConfig = Readonly<Record<string, unknown>>

/** With search and bind, the most common kind. */
export const SEARCH: LdapConfig = {
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  userSearchBase: PEOPLE,
  bindUserDn: ACCOUNT.dn,
  bindPassword: ACCOUNT.password,
}

/** Groups of the directory as groups here. */
export const AS_SCOPES: LdapConfig = {
  ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml',
  groupSearchBase: 'ou=groups,dc=example,dc=org',
}

/** `login_hint` for the directory. */
export const LDAP_HINT = JSON.stringify({ origin: 'ldap' })

/** A server with a directory. */
export interface LdapServer {
  readonly server: TestServer
  /** Replaces the settings of the provider. */
  configure(config: LdapConfig): Promise<void>
  /** The password grant, by default with a hint. */
  grant(userName: string, form?: Readonly<Record<string, string>>): Promise<TestAnswer>
  /** The account with the user name, whose origin is the directory. */
  account(userName: string): Promise<User | undefined>
}

/** A client whose users come from one provider; its secret is its id. */
const only = (origin: string) => ({
  client_id: `only-${origin}`,
  client_secret: `only-${origin}`,
  authorized_grant_types: ['password', 'refresh_token'],
  scope: ['openid'],
  allowedproviders: [origin],
})

/** Starts one; the test stops it. */
export async function startLdapServer(
  mode: CompatibilityMode,
  config: LdapConfig,
  { bootstrap, ...options }: ServerOptions & { readonly bootstrap?: Readonly<Record<string, unknown>> } = {},
): Promise<LdapServer> {
  const record = { originKey: 'ldap', type: 'ldap', name: 'Directory', active: true, config }
  const admin = {
    client_id: 'admin',
    client_secret: 'admin-secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['svc.admin'],
  }
  const usual = {
    ...defaultBootstrap,
    clients: [...defaultBootstrap.clients, admin, only('ldap'), only('svc')],
    identity_providers: [record],
  }
  const server = await startServer({
    mode,
    ...options,
    config: { ...options.config, bootstrap: { ...usual, ...bootstrap } },
  })
  return {
    server,
    async configure(changed) {
      const form = { grant_type: 'client_credentials' }
      const { access_token: bearer } = tokensOf(await server.token(form, { basic: ['admin', 'admin-secret'] }))
      const provider = await server.store.providers.findByOrigin('svc', 'ldap')
      const answer = await server.send(`/identity-providers/${provider?.id}`, {
        method: 'PUT',
        bearer,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...record, config: changed }),
      })
      assert.equal(answer.status, 200, answer.text)
    },
    grant: (username, form = {}) =>
      server.token(
        { grant_type: 'password', username, password: PASSWORD, login_hint: LDAP_HINT, ...form },
        { basic: APP },
      ),
    account: userName => server.store.users.findByName('svc', 'ldap', userName),
  }
}

/** Changes the directory with the rights of its account. */
export async function changing<T>({ url }: Slapd, change: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ url })
  try {
    await client.bind(ACCOUNT.dn, ACCOUNT.password)
    return await change(client)
  } finally {
    await client.unbind()
  }
}
