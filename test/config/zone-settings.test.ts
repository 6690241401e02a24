import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const RULE = 'Must be a path or a properly formatted URI beginning with http:// or https://'
const WEB_RULE = 'Must be a properly formatted URI beginning with http:// or https://'

describe('The settings of a zone in the file', () => {
  const cases: readonly { readonly name: string; readonly config: object; readonly want: string }[] = [
    {
      name: 'no user at all',
      config: { userConfig: { maxUsers: 0 } },
      want: ': Maximum number of users in the zone is invalid, either use -1 or a value more than 0.',
    },
    {
      name: 'no group at all',
      config: { userConfig: { allowedGroups: [], defaultGroups: [] } },
      want: ': At least one group must be allowed',
    },
    {
      name: 'a blank consent',
      config: { branding: { consent: { text: ' ' } } },
      want: ': Consent text must be set if configuring consent',
    },
    {
      name: 'an unusable link of the consent',
      config: { branding: { consent: { text: 'Agree', link: 'https://[' } } },
      want: `: Invalid consent link: https://[. ${WEB_RULE}`,
    },
    {
      name: 'a logo that is no image',
      config: { branding: { banner: { logo: '<svg>' } } },
      want: ': Invalid banner logo. Must be in BASE64 format.',
    },
    {
      name: 'an unusable link of the footer',
      config: { branding: { footerLinks: { Terms: 'https://a b' } } },
      want: `: Invalid footer link: https://a b. ${RULE}`,
    },
    {
      name: 'an unusable link of the start page',
      config: { links: { homeRedirect: 'https://[' } },
      want: `: Invalid home link: https://[. ${RULE}`,
    },
    {
      name: 'an issuer that is no URL',
      config: { issuer: 'https://[' },
      want: '.issuer: must be a URL without user, query and fragment',
    },
    {
      name: 'an issuer with a password',
      config: { issuer: 'https://u:p@id.example' },
      want: '.issuer: must be a URL without user, query and fragment',
    },
    {
      name: 'a mistyped link, once',
      config: { links: { homeRedirect: 'ftp://a' } },
      want: String.raw`.links.homeRedirect: must match ^(?:https?://|/[^/\\]|/?$)`,
    },
  ]
  for (const { name, config, want } of cases) {
    it(`refuse ${name}, as the API does`, async () => {
      const zone = { id: 'z1', subdomain: 'z1', name: 'Z', config }
      const ofDefault = await problemsOf(loadText(folder, JSON.stringify({ zone_config: config })))
      assert.deepEqual(ofDefault, [`zone_config${want}`])
      const ofOther = await problemsOf(loadText(folder, JSON.stringify({ bootstrap: { identity_zones: [zone] } })))
      assert.deepEqual(ofOther, [`bootstrap.identity_zones[0].config${want}`])
    })
  }
})
