import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMissingAttributes } from '../../../src/identity/saml/missing-attributes.ts'
import type { SamlAttribute, SamlStatement } from '../../../src/identity/saml/statement.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import { createTestClock } from '../../support/clock.ts'

const clock = createTestClock()

const record = (attributeMappings: object, version = 0): IdentityProvider => ({
  id: 'p1',
  originKey: 'corp',
  type: 'saml',
  name: 'Corp',
  active: true,
  config: { attributeMappings },
  version,
  createdAt: clock.now(),
  updatedAt: clock.now(),
  zoneId: 'svc',
})
const statement = (...attributes: readonly SamlAttribute[]): SamlStatement => ({
  assertionId: '_1',
  issuedAt: clock.now(),
  usableUntil: clock.now(),
  nameId: { value: 'ann' },
  authnContextClasses: [],
  attributes,
})
const attribute = (name: string, friendlyName?: string): SamlAttribute => ({
  name,
  values: ['a private value'],
  ...(friendlyName !== undefined && { friendlyName }),
})

describe('createMissingAttributes', () => {
  const reported = (): { readonly lines: string[]; readonly report: ReturnType<typeof createMissingAttributes> } => {
    const lines: string[] = []
    return { lines, report: createMissingAttributes({ refusal: line => void lines.push(line) }) }
  }

  it('logs missing and received attribute names, without values', () => {
    const { lines, report } = reported()
    const mappings = { email: 'mail', given_name: 'givenName', external_groups: ['groups', 'roles'] }
    report(record(mappings), statement(attribute('mail'), attribute('urn:oid:2.5.4.42', 'givenName'), attribute('g\n')))
    assert.deepEqual(lines, [
      'sign-in at "corp": the assertion lacks the mapped "givenName" (given_name), "groups" (external_groups), ' +
        '"roles" (external_groups); it has "mail", "urn:oid:2.5.4.42" ("givenName"), "g\\n"',
    ])
  })

  it('logs once for each version of the record', () => {
    const { lines, report } = reported()
    for (const version of [0, 0, 1]) report(record({ email: 'mail' }, version), statement())
    assert.deepEqual(
      lines,
      Array(2).fill('sign-in at "corp": the assertion lacks the mapped "mail" (email); it has no attributes'),
    )
    report(record({ email: 'mail', given_name: 'gn' }, 1), statement(attribute('mail')))
    assert.match(lines.at(-1) ?? '', /lacks the mapped "gn" \(given_name\); it has "mail"$/)
  })

  it('logs nothing if all mapped attributes are present', () => {
    const { lines, report } = reported()
    const sent = statement(attribute('mail'), attribute('urn:groups', 'groups'))
    report(record({ email: 'mail', external_groups: 'groups', given_name: '', family_name: null }), sent)
    report(record({}), statement())
    assert.deepEqual(lines, [])
  })
})
