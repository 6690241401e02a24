import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRestricted, restrictedScopes, restrictionProblem } from '../../../src/model/tokens/restricted-scopes.ts'
import { serviceNamed } from '../../../src/model/service.ts'

const service = serviceNamed('uaa')

describe('Restricted scopes', () => {
  it('begin with the service name', () => {
    assert.ok(restrictedScopes(service).includes('uaa.admin'))
    assert.ok(restrictedScopes(serviceNamed('svc')).includes('svc.admin'))
  })

  const cases: readonly (readonly [scope: string, restricted: boolean])[] = [
    ...restrictedScopes(service).map(scope => [scope, true] as const),
    ['zones.a.admin', true],
    ['zones.a.b.c.clients.read', true],
    ['zones..idps.write', true],
    ['audit.read', true],
    ['zones.a.audit.read', true],
    ['scim.invite', true],
    ['zones.a.scim.invite', true],
    ['audit.*', true],
    ['audit.reads', false],
    ['zones.admin', false],
    ['zones.a.clients', false],
    ['zones.clients.read', true], // the zone could be called so, and its readers have this right
    ['azones.a.admin', false],
    ['clients.admin2', false],
    ['clients.Admin', false],
    ['openid', false],
    ['uaa.user', false],
    // A client's scope may have wildcards, which can match restricted scopes.
    ['*.admin', true],
    ['scim.*', true],
    ['*.*', true],
    ['zones.*.*', true],
    ['z*.x.scim.w*', true],
    ['shop.*', false],
    ['*', false], // a star stands for no dot
    ['*.read.all', false],
  ]
  for (const [scope, restricted] of cases) {
    it(`${restricted ? 'include' : 'do not include'} ${scope}`, () =>
      assert.equal(isRestricted(scope, service), restricted))
  }

  it('are found in every form of a list, scopes before authorities', () => {
    for (const json of [
      { scope: ['openid', 'scim.read'] },
      { scope: 'openid scim.read' },
      { scope: ['openid,scim.read'] },
      { scope: [5, 'scim.read'], authorities: ['uaa.admin'] },
    ]) {
      assert.equal(restrictionProblem(json, service), 'scim.read is a restricted scope.')
    }
    assert.equal(restrictionProblem({ authorities: ['uaa.admin'] }, service), 'uaa.admin is a restricted authority.')
  })

  it('are not found in values without lists', () => {
    for (const json of [{}, { scope: null }, { scope: {}, authorities: 5 }, { scope: [['scim.read']] }]) {
      assert.equal(restrictionProblem(json, service), undefined)
    }
  })
})
