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
  values: ['a value that is nobody’s business'],
  ...(friendlyName !== undefined && { friendlyName }),
})

describe('mapped attributes that a SAML provider does not send', () => {
  const reported = (): { readonly lines: string[]; readonly tell: ReturnType<typeof createMissingAttributes> } => {
    const lines: string[] = []
    return { lines, tell: createMissingAttributes({ refusal: line => void lines.push(line) }) }
  }

  it('are in the log with the names that it sent, and without values', () => {
    const { lines, tell } = reported()
    const mappings = { email: 'mail', given_name: 'givenName', external_groups: ['groups', 'roles'] }
    tell(record(mappings), statement(attribute('mail'), attribute('urn:oid:2.5.4.42', 'givenName'), attribute('g\n')))
    assert.deepEqual(lines, [
      'sign-in at "corp": the assertion lacks the mapped "givenName" (given_name), "groups" (external_groups), ' +
        '"roles" (external_groups); it has "mail", "urn:oid:2.5.4.42" ("givenName"), "g\\n"',
    ])
  })

  it('are logged once for each version of the record', () => {
    const { lines, tell } = reported()
    for (const version of [0, 0, 1]) tell(record({ email: 'mail' }, version), statement())
    assert.deepEqual(
      lines,
      Array(2).fill('sign-in at "corp": the assertion lacks the mapped "mail" (email); it has no attributes'),
    )
    tell(record({ email: 'mail', given_name: 'gn' }, 1), statement(attribute('mail')))
    assert.match(lines.at(-1) ?? '', /lacks the mapped "gn" \(given_name\); it has "mail"$/)
  })

  it('are none where everything came, groups by their friendly name, or nothing is mapped', () => {
    const { lines, tell } = reported()
    const sent = statement(attribute('mail'), attribute('urn:groups', 'groups'))
    tell(record({ email: 'mail', external_groups: 'groups', given_name: '', family_name: null }), sent)
    tell(record({}), statement())
    assert.deepEqual(lines, [])
  })
})
