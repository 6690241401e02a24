import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_PAGE_SETTINGS } from '../../src/model/zones/settings.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string) => loadText(folder, text)

describe('Settings of pages and sessions', () => {
  it('have defaults', async () => {
    for (const text of [
      '{}',
      'links: { global: {} }\nservlet: { session-cookie: {} }',
      'servlet: { session-cookie: { max-age: -1 } }',
    ]) {
      assert.deepEqual((await load(text)).pageSettings, DEFAULT_PAGE_SETTINGS)
    }
  })

  // Covers configuration file: links.global.signup; links.global.passwd; links.global.homeRedirect
  // Covers configuration file: servlet.idle-timeout
  it('have UAA’s keys', async () => {
    const { pageSettings } = await load(`
links:
  global:
    signup: https://portal.example/{zone.id}/new
    passwd: /forgot?zone={zone.subdomain}
    homeRedirect: https://{zone.subdomain}.apps.example/
servlet: { idle-timeout: 600, session-cookie: { max-age: 86400 } }`)
    assert.deepEqual(pageSettings, {
      links: {
        signup: 'https://portal.example/{zone.id}/new',
        passwd: '/forgot?zone={zone.subdomain}',
        homeRedirect: 'https://{zone.subdomain}.apps.example/',
      },
      idleSeconds: 600,
      cookieSeconds: 86_400,
    })
  })

  const noLink = 'must be an http or https URL, or a path that begins with one slash'
  const refused = [
    {
      name: 'links with an unsafe scheme or without a host',
      text: 'links: { global: { signup: "javascript:alert(1)", passwd: forgot, homeRedirect: "//other.example" } }',
      want: [
        `links.global.homeRedirect: ${noLink}`,
        `links.global.passwd: ${noLink}`,
        `links.global.signup: ${noLink}`,
      ],
    },
    {
      name: 'links that browsers read differently, or that are invalid in a header',
      text: 'links: { global: { signup: "/\\\\other.example", passwd: "/a b", homeRedirect: "https://" } }',
      want: [
        `links.global.homeRedirect: ${noLink}`,
        `links.global.passwd: ${noLink}`,
        `links.global.signup: ${noLink}`,
      ],
    },
    {
      name: 'an empty link',
      text: 'links: { global: { signup: "" } }',
      want: ['links.global.signup: must not be empty'],
    },
    // Covers configuration file: servlet.session-cookie.max-age
    {
      name: 'a session timeout of zero, and a cookie lifetime of zero',
      text: 'servlet: { idle-timeout: 0, session-cookie: { max-age: 0 } }',
      want: ['servlet.idle-timeout: must be at least 1', 'servlet.session-cookie.max-age: must be -1, or at least 1'],
    },
    {
      name: 'invalid times',
      text: 'servlet: { idle-timeout: 1.5, session-cookie: { max-age: -2 } }',
      want: ['servlet.idle-timeout: must be a whole number', 'servlet.session-cookie.max-age: must be at least -1'],
    },
    {
      name: 'wrong types, reporting only those',
      text: 'links: { global: { signup: [x] } }\nservlet: x',
      want: ['links.global.signup: must be a string', 'servlet: must be a mapping'],
    },
    {
      name: 'unknown keys',
      text: 'links: { signup: /x }\nservlet: { session-store: memory }',
      want: ['links.signup: is not a known key', 'servlet.session-store: is not a known key'],
    },
  ]
  for (const { name, text, want } of refused) {
    it(`reject ${name}`, async () => {
      assert.deepEqual((await problemsOf(load(text))).toSorted(), want)
    })
  }
})
