import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { scopesInZone } from '../../../src/model/tokens/scopes-in-zone.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const service = serviceNamed('svc')

describe('`scopesInZone`', () => {
  const cases: readonly { name: string; scopes: readonly string[]; left: readonly string[] }[] = [
    { name: 'the administrator of the server', scopes: ['svc.admin', 'clients.read'], left: ['svc.admin'] },
    {
      name: 'scopes for the zone',
      scopes: ['zones.z1.admin', 'zones.z1.read', 'zones.z1.clients.read'],
      left: ['zones.z1.admin', 'zones.z1.read', 'clients.read'],
    },
    { name: 'scopes for another zone', scopes: ['zones.z2.admin', 'zones.z2.clients.admin'], left: [] },
    {
      name: 'scopes that are not supported there',
      scopes: ['zones.z1.clients.secret', 'zones.z1.oauth.login'],
      left: [],
    },
    { name: 'scopes of the default zone', scopes: ['clients.admin', 'scim.write', 'openid'], left: [] },
  ]
  for (const { name, scopes, left } of cases) {
    // Covers every endpoint: rule: zone switching scopes
    it(`returns ${left.join(', ') || 'nothing'} for ${name}`, () => {
      assert.deepEqual(scopesInZone(scopes, 'z1', service), left)
    })
  }
})

const serviceClient = (client_id: string, authorities: readonly string[]) => ({
  client_id,
  client_secret: 'secret',
  authorized_grant_types: ['client_credentials'],
  authorities,
})

describe('Zone switching header', () => {
  let server: TestServer
  const tokens = new Map<string, string>()
  before(async () => {
    const target = { client_id: 'target', client_secret: 'secret', authorized_grant_types: ['client_credentials'] }
    server = await startServer({
      config: {
        bootstrap: {
          clients: [
            serviceClient('root', ['svc.admin']),
            serviceClient('z1-admin', ['zones.z1.admin']),
            serviceClient('z3-admin', ['zones.z3.admin']),
            serviceClient('z1-clients', ['zones.z1.clients.admin']),
            serviceClient('z1-reader', ['zones.z1.clients.read', 'clients.trust']),
            serviceClient('own', ['clients.admin', 'clients.trust']),
            serviceClient('wildcard', ['zones.*.admin']),
          ],
          identity_zones: [
            {
              id: 'z1',
              subdomain: 'one',
              name: 'One',
              bootstrap: { clients: [target, serviceClient('native', ['svc.admin'])] },
            },
            { id: 'z2', subdomain: 'two', name: 'Two', bootstrap: { clients: [target] } },
            { id: 'z3', subdomain: 'three', name: 'Three', active: false, bootstrap: { clients: [target] } },
          ],
        },
      },
    })
    for (const id of ['root', 'z1-admin', 'z3-admin', 'z1-clients', 'z1-reader', 'own', 'wildcard']) {
      const answer = await server.token({ grant_type: 'client_credentials' }, { basic: [id, 'secret'] })
      tokens.set(id, answer.json<{ access_token: string }>().access_token)
    }
    const native = await server.token(
      { grant_type: 'client_credentials' },
      { basic: ['native', 'secret'], host: 'one.localhost:8080' },
    )
    tokens.set('native', native.json<{ access_token: string }>().access_token)
  })
  after(() => server.stop())

  const change = (caller: string, headers: Readonly<Record<string, string>>, host?: string) =>
    server.send('/oauth/clients/target/clientjwt', {
      method: 'PUT',
      bearer: tokens.get(caller) ?? '',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ changeMode: 'DELETE', kid: 'x' }),
      ...(host !== undefined && { host }),
    })

  const byId = (id: string) => ({ 'x-identity-zone-id': id })
  const bySubdomain = (subdomain: string) => ({ 'x-identity-zone-subdomain': subdomain })

  for (const { caller, headers, status, name } of [
    { name: 'by id', caller: 'root', headers: byId('z1'), status: 200 },
    { name: 'by subdomain', caller: 'root', headers: bySubdomain('one'), status: 200 },
    // Covers every endpoint: X-Identity-Zone-Subdomain
    { name: 'by subdomain in upper case', caller: 'root', headers: bySubdomain('ONE'), status: 200 },
    // Covers every endpoint: X-Identity-Zone-Id
    {
      name: 'by id and another subdomain',
      caller: 'z1-admin',
      headers: { ...byId('z1'), ...bySubdomain('two') },
      status: 200,
    },
    {
      name: 'by an empty id and a subdomain',
      caller: 'z1-admin',
      headers: { ...byId(''), ...bySubdomain('one') },
      status: 200,
    },
    { name: 'as administrator of that zone', caller: 'z1-admin', headers: byId('z1'), status: 200 },
    { name: 'as client administrator of that zone', caller: 'z1-clients', headers: byId('z1'), status: 200 },
    { name: 'as client reader of that zone', caller: 'z1-reader', headers: byId('z1'), status: 403 },
    { name: 'as administrator of another zone, by id', caller: 'z1-admin', headers: byId('z2'), status: 403 },
    {
      name: 'as administrator of another zone, by subdomain',
      caller: 'z1-admin',
      headers: bySubdomain('two'),
      status: 403,
    },
    { name: 'with a scope of the default zone only', caller: 'own', headers: byId('z1'), status: 403 },
    { name: 'with a wildcard that is not a scope', caller: 'wildcard', headers: byId('z1'), status: 403 },
    { name: 'of an unknown zone', caller: 'root', headers: byId('nowhere'), status: 404 },
    { name: 'of an inactive zone', caller: 'root', headers: byId('z3'), status: 404 },
    {
      name: 'of an unknown zone, without the scope',
      caller: 'own',
      headers: byId('nowhere'),
      status: 403,
    },
    {
      name: 'of an unknown zone, as administrator of another',
      caller: 'z1-admin',
      headers: byId('nowhere'),
      status: 403,
    },
    {
      name: 'of an unknown subdomain, as administrator of another',
      caller: 'z1-admin',
      headers: bySubdomain('nowhere'),
      status: 403,
    },
    {
      name: 'of an inactive zone, as administrator of another',
      caller: 'z1-admin',
      headers: bySubdomain('three'),
      status: 403,
    },
    { name: 'of an inactive zone, as its administrator', caller: 'z3-admin', headers: byId('z3'), status: 404 },
    { name: 'repeated', caller: 'root', headers: byId('z1, z1'), status: 404 },
    { name: 'by an invalid subdomain', caller: 'root', headers: bySubdomain('\u0001'), status: 404 },
  ]) {
    it(`${name}: ${status}`, async () => {
      assert.equal((await change(caller, headers)).status, status)
    })
  }

  it('has no effect with the default zone in the default zone', async () => {
    assert.equal((await server.send('/login', { headers: byId('svc') })).status, 200)
    const token = { basic: ['own', 'secret'], headers: { ...byId('svc'), ...bySubdomain('one') } } as const
    assert.equal((await server.token({ grant_type: 'client_credentials' }, token)).status, 200)
    const list = { bearer: tokens.get('own') ?? '', headers: byId('svc') }
    assert.equal((await server.send('/oauth/clients/own', list)).status, 200, 'no zone scope is required')
    assert.equal((await server.send('/login', { headers: byId('svc'), host: 'one.localhost:8080' })).status, 403)
  })

  it('is refused at the host of another zone', async () => {
    assert.equal((await change('native', byId('z2'), 'one.localhost:8080')).status, 403)
    assert.equal((await change('native', {}, 'one.localhost:8080')).status, 200, 'accepted without the header')
  })

  it('is refused without a valid token, and on routes that do not support it', async () => {
    assert.equal((await server.send('/info', { headers: byId('z1') })).status, 403)
    assert.equal((await server.send('/info', { headers: byId('') })).status, 200, 'an empty header is ignored')
    assert.equal((await server.send('/login', { headers: byId('z1') })).status, 403)
    assert.equal((await server.send('/healthz', { headers: byId('z1') })).status, 200)
    const body = { method: 'PUT', headers: { 'content-type': 'application/json', ...byId('z1') }, body: '{}' }
    assert.equal((await server.send('/oauth/clients/target/clientjwt', body)).status, 401)
    assert.equal((await server.send('/oauth/clients/target/clientjwt', { ...body, bearer: 'x.y.z' })).status, 401)
    const ids = { bearer: tokens.get('root') ?? '', headers: byId('z1'), query: { filter: 'userName eq "x"' } }
    assert.equal((await server.send('/ids/Users', ids)).status, 403)
    const token = { basic: ['root', 'secret'], headers: byId('z1') } as const
    assert.equal((await server.token({ grant_type: 'client_credentials' }, token)).status, 403)
  })

  it('is refused with the way to the zone where it is not accepted, and as a missing right elsewhere', async () => {
    const atAddress = /X-Identity-Zone-Id.*address of the zone/
    const ids = { bearer: tokens.get('root') ?? '', headers: byId('z1'), query: { filter: 'userName eq "x"' } }
    const ofClient = { basic: ['root', 'secret'], headers: byId('z1') } as const
    for (const refused of [
      await server.send('/ids/Users', ids),
      await server.token({ grant_type: 'client_credentials' }, ofClient),
      await change('native', byId('z2'), 'one.localhost:8080'),
    ]) {
      assert.equal(refused.status, 403)
      assert.match(String(refused.json()['error_description']), atAddress)
    }
    assert.doesNotMatch(String((await change('own', byId('z1'))).json()['error_description']), atAddress)
  })

  it('is authorized before the body is read', async () => {
    const sent = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{' }
    assert.equal((await server.send('/oauth/clients/target/clientjwt', sent)).status, 401)
  })
})

it('a zone switching header of an unknown zone gets 404 for zone administrators in uaa', async () => {
  const clients = [serviceClient('z1-admin', ['zones.z1.admin']), serviceClient('own', ['clients.admin'])]
  const identity_zones = [{ id: 'z2', subdomain: 'two', name: 'Two' }]
  const server = await startServer({ mode: 'uaa', config: { bootstrap: { clients, identity_zones } } })
  try {
    const statuses = ['z1-admin', 'own'].map(async name => {
      const token = await server.token({ grant_type: 'client_credentials' }, { basic: [name, 'secret'] })
      const { access_token: bearer } = token.json<{ access_token: string }>()
      const of = async (zoneId: string) =>
        (await server.send('/oauth/clients', { bearer, headers: { 'x-identity-zone-id': zoneId } })).status
      return [await of('nowhere'), await of('z2')]
    })
    assert.deepEqual(await Promise.all(statuses), [
      [404, 403],
      [403, 403],
    ])
  } finally {
    await server.stop()
  }
})

for (const mode of MODES) {
  describe(`Zone switching header without a token in ${mode}`, () => {
    it('is 401 in standard, and a refused switch in uaa (C6)', async () => {
      const server = await startServer({ mode })
      try {
        for (const headers of [{ 'x-identity-zone-id': 'z1' }, { 'x-identity-zone-subdomain': 'one' }]) {
          for (const path of ['/Users', '/oauth/clients', '/identity-zones', '/userinfo']) {
            const { status } = await server.send(path, { headers })
            assert.equal(status, mode === 'uaa' ? 403 : 401, path)
          }
          assert.equal((await server.send('/info', { headers })).status, 403)
        }
        const own = { 'x-identity-zone-id': 'svc' }
        assert.equal((await server.send('/Users', { headers: own })).status, 401)
      } finally {
        await server.stop()
      }
    })
  })
}
