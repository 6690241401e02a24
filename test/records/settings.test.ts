import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { settingsSchema, shownSettingsSchema } from '../../src/records/json-schema.ts'
import { oidcSettings } from '../../src/records/provider-oauth.ts'
import {
  readAllSettings,
  readSettings,
  secretsOf,
  section,
  setting,
  showSettings,
  WrongShape,
} from '../../src/records/settings.ts'
import { zoneConfigSettings } from '../../src/records/zone-config.ts'

const zone = zoneConfigSettings('svc')
const tokenPolicy = zone.members.tokenPolicy

/** A zone's settings with an additional one. */
const settings = section({
  ...zone,
  members: {
    ...zone.members,
    tokenPolicy: section({
      ...tokenPolicy,
      members: {
        ...tokenPolicy.members,
        colour: setting({
          kind: v.picklist(['red', 'blue']),
          needs: 'red or blue',
          unset: 'red',
          about: 'What tokens look like.',
        }),
      },
    }),
  },
})

describe('A setting added to a description', () => {
  it('is read, and rejected if invalid', () => {
    const { tokenPolicy: read } = readSettings(settings, { tokenPolicy: { colour: 'blue', unknown: 1 } }, 'config')
    const colour: 'red' | 'blue' | undefined = read?.colour
    assert.deepEqual([colour, read], ['blue', { colour: 'blue' }])
    assert.throws(
      () => readSettings(settings, { tokenPolicy: { colour: 'green' } }, 'config'),
      new WrongShape('config.tokenPolicy.colour', 'red or blue'),
    )
  })

  it('is rejected if misspelled where that would be harmful', () => {
    assert.throws(() => readSettings(settings, { protocols: { dpoop: false } }, 'config'), {
      message: 'config.protocols.dpoop is not a known member',
    })
  })

  it('is shown, with its default if not set', () => {
    const shown = (kept: object) => Reflect.get(Object(showSettings(settings, kept)['tokenPolicy']), 'colour')
    assert.deepEqual([shown({}), shown({ tokenPolicy: { colour: 'blue' } })], ['red', 'blue'])
  })

  it('is in the schema of the configuration file', () => {
    const { properties } = settingsSchema(settings.members.tokenPolicy)
    assert.deepEqual(Reflect.get(Object(properties), 'colour'), {
      enum: ['red', 'blue'],
      description: 'What tokens look like.',
    })
  })
})

describe('Settings of a zone', () => {
  const refused = [
    { name: 'a value that is not an object', sent: [], path: 'config', needs: 'an object' },
    { name: 'null for all of them', sent: null, path: 'config', needs: 'an object' },
    { name: 'a section that is not an object', sent: { links: 'x' }, path: 'config.links', needs: 'an object' },
    {
      name: 'a string for a boolean',
      sent: { links: { selfService: { selfServiceLinksEnabled: 'true' } } },
      path: 'config.links.selfService.selfServiceLinksEnabled',
      needs: 'true or false',
    },
    { name: 'null for an issuer', sent: { issuer: null }, path: 'config.issuer', needs: 'a string' },
  ]
  for (const { name, sent, path, needs } of refused) {
    it(`reject ${name}`, () => {
      assert.throws(() => readSettings(zone, sent, 'config'), new WrongShape(path, needs))
    })
  }

  it('ignore null, unknown members and prototype members', () => {
    const sent: unknown = JSON.parse(
      '{"tokenPolicy":null,"links":{"homeRedirect":null},"x":1,"__proto__":{"issuer":"y"}}',
    )
    assert.deepEqual(readSettings(zone, sent, 'config'), { links: {} })
  })

  it('do not store defaults', () => {
    const shown = showSettings(zone, {})
    const { corsPolicy, prompts } = readSettings(zone, shown, 'config')
    assert.deepEqual([corsPolicy, prompts], [{}, undefined])
  })
})

describe('Settings of a provider', () => {
  /** Those of OpenID Connect with additional ones. */
  const described = section({
    ...oidcSettings,
    members: {
      ...oidcSettings.members,
      badge: setting({ kind: v.picklist(['gold', 'tin']), needs: 'one of gold, tin', unset: 'tin' }),
      pin: setting({ kind: v.string(), needs: 'a string', secret: true }),
    },
  })

  it('are read with all problems at once', () => {
    const sent = { badge: 'gold', pin: 7, pkce: 'no', scopes: ['a'], unknown: 1 }
    const { kept, problems } = readAllSettings(described, sent, 'config')
    const badge: 'gold' | 'tin' | undefined = kept.badge
    assert.deepEqual([badge, kept], ['gold', { badge: 'gold', scopes: ['a'] }])
    assert.deepEqual(problems, [
      { key: 'config.pkce', message: 'must be true or false' },
      { key: 'config.pin', message: 'must be a string' },
    ])
  })

  it('name their secrets, which responses never show', () => {
    assert.deepEqual(
      [...secretsOf(described).keys()],
      ['tokenKey', 'relyingPartySecret', 'jwtClientAuthentication', 'pin'],
    )
    const { properties, required } = shownSettingsSchema(described)
    assert.deepEqual(
      [Reflect.get(Object(properties), 'badge'), Object.hasOwn(Object(properties), 'pin')],
      [{ enum: ['gold', 'tin'] }, false],
    )
    assert.ok(Array.isArray(required) && required.includes('badge') && !required.includes('pin'))
    assert.equal(showSettings(described, {})['badge'], 'tin')
  })

  it('may be null in a request', () => {
    const { properties } = settingsSchema(described, { nullable: true })
    assert.deepEqual(Reflect.get(Object(properties), 'badge'), { enum: ['gold', 'tin', null] })
  })
})
