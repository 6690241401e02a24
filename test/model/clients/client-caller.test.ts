import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callerProblems } from '../../../src/model/clients/client-caller.ts'
import { clientFromJson } from '../../../src/clients/client-json.ts'
import { serviceNamed } from '../../../src/model/service.ts'

const service = serviceNamed('uaa')
const nothing = { clientId: 'new', authorizedGrantTypes: [], scope: [], authorities: [] }

describe('callerProblems for a caller without administrative authority', () => {
  it('accepts uaa.none as scope and authority', () => {
    const wanted = { ...nothing, scope: ['uaa.none'], authorities: ['uaa.none'] }
    assert.deepEqual(callerProblems({ clientId: 'me', scope: [] }, wanted, service), [])
    assert.deepEqual(callerProblems({ clientId: 'me' }, wanted, service), [])
  })

  it('reports every problem in the order of the interface', () => {
    const wanted = {
      clientId: 'new',
      authorizedGrantTypes: ['password', 'implicit', 'authorization_code', 'client_credentials'],
      scope: ['me.x', 'b', 'mine'],
      authorities: ['uaa.resource', 'uaa.admin'],
    }
    assert.deepEqual(
      callerProblems({ clientId: 'me', scope: ['b'] }, wanted, service).map(([, message]) => message),
      [
        'password is not an allowed grant type for non-admin caller.',
        'Not allowed: implicit grant type is not allowed together with authorization_code',
        'mine is not an allowed scope for caller=me. Must have prefix in [me.] or be one of: [b]',
        'uaa.admin is not an allowed authority for caller=me. Must be one of: [uaa.none, uaa.resource]',
      ],
    )
  })

  const begins = [
    ['me', 'me.admin', true],
    ['me', 'me.*', true],
    ['zones', 'zones.z1.admin', false],
    ['zones', 'zones.*.clients.admin', false],
    ['zones', 'zones.z1.other', true],
    ['clients', 'clients.admin', false],
    ['clients', 'clients.*', false],
    ['scim', 'scim.write', false],
    ['*', '*.admin', false],
    ['*', '*.other', false],
    ['m*', 'm*.other', false],
  ] as const
  for (const [clientId, scope, isAllowed] of begins) {
    it(`${isAllowed ? 'accepts' : 'rejects'} ${scope} from ${clientId} without that scope`, () => {
      const wanted = { ...nothing, scope: [scope] }
      assert.equal(callerProblems({ clientId, scope: [] }, wanted, service).length === 0, isAllowed)
      assert.deepEqual(callerProblems({ clientId, scope: [scope] }, wanted, service), [])
    })
  }

  it('accepts no scope prefix for a client of another zone', () => {
    assert.deepEqual(callerProblems({ clientId: 'me' }, { ...nothing, scope: ['me.x'] }, service), [
      ['scope', 'No scopes alllowed for null caller and client_id=new.'],
    ])
  })

  it('are reported between the problems of grant types and secret', () => {
    const json = { client_id: 'new', authorized_grant_types: ['client_credentials', JWT_BEARER], scope: ['x'] }
    const { problems } = clientFromJson(
      json,
      { service, exactRedirectUri: true, furtherProtocols: true },
      {
        as: 'created',
        withSecondSecret: true,
        caller: { clientId: 'me', scope: [] },
      },
    )
    assert.deepEqual(
      problems.map(({ key, message }) => [key, message.split(' ').slice(0, 3).join(' ')]),
      [
        ['client_secret', 'Client secret is'],
        ['scope', 'x is not'],
        ['client_secret', 'Client secret is'],
      ],
    )
  })
})

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
