import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Html } from '../../src/base/html.ts'
import { approvalPage } from '../../src/pages/approval.ts'
import { activationSentPage } from '../../src/pages/accounts/create-account.ts'
import { describedIn, errorPage } from '../../src/pages/error.ts'
import { homePage } from '../../src/pages/home.ts'
import type { Chrome } from '../../src/pages/parts/layout.ts'
import { loginPage } from '../../src/pages/sign-in/login.ts'
import type { LoginProps } from '../../src/pages/sign-in/login.ts'
import { logoutConfirmationPage } from '../../src/pages/logout-confirmation.ts'
import { deviceCodePage, deviceDecisionPage, deviceDonePage } from '../../src/pages/device.ts'
import { passcodeOfferPage, passcodePage } from '../../src/pages/passcode.ts'
import { signedOutPage } from '../../src/pages/signed-out.ts'
import { referenceTexts, textsIn } from '../../src/pages/texts/texts.ts'
import { withoutComments } from '../../src/web/assets.ts'
import { anonymous, png, signedIn, states } from './states.ts'

interface Tag {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

const TAG = /<(\/?[a-z][a-z0-9]*|!doctype)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*\/?>/iy

/** Parses a document more strictly than a browser: a `<` or `>` outside a plain tag is an error. */
function tagsOf(page: Html): readonly Tag[] {
  const text = page.toString()
  const tags: Tag[] = []
  for (let position = 0; position < text.length; position = TAG.lastIndex) {
    const start = text.indexOf('<', position)
    const between = text.slice(position, start < 0 ? undefined : start)
    assert.ok(!between.includes('>'), `a stray > in ${JSON.stringify(between)}`)
    if (start < 0) break
    TAG.lastIndex = start
    const match = TAG.exec(text)
    assert.ok(match, `no plain tag: ${JSON.stringify(text.slice(start, start + 80))}`)
    const attributes = [...(match[2] ?? '').matchAll(/([a-z-]+)(?:="([^"]*)")?/gi)]
    tags.push({
      name: (match[1] ?? '').toLowerCase(),
      attributes: Object.fromEntries(
        attributes.map(([, name = '', value = '']) => [name.toLowerCase(), unescape(value)]),
      ),
    })
  }
  return tags
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`' }
const unescape = (text: string): string => text.replace(/&([#a-z0-9]+);/g, (all, name: string) => ENTITIES[name] ?? all)

/** The tag and attribute names, without texts. */
const skeleton = (page: Html): readonly string[] =>
  tagsOf(page)
    .filter(({ name }) => name !== 'wbr') // a long name may break at its punctuation
    .map(({ name, attributes }) => [name, ...Object.keys(attributes)].join(' '))

/** The tag with the attribute; there must be exactly one. */
function only(page: Html, name: string, attribute: string, value: string): Tag {
  const found = tagsOf(page).filter(tag => tag.name === name && tag.attributes[attribute] === value)
  assert.equal(found.length, 1, `${name}[${attribute}="${value}"]`)
  return found[0] ?? { name, attributes: {} }
}

const link = (text: string): string => `https://example.org/?${text}`

/** Every page with the same text in every prop: verbatim in texts, in the query of links. */
const everywhere: Readonly<Record<string, (text: string) => Html>> = {
  login: text =>
    loginPage(chrome(text), {
      prompts: [
        { name: 'username', type: text, text },
        { name: 'password', type: 'password', text },
        { name: text, type: text, text },
      ],
      userName: text,
      message: { kind: 'error', text },
      formRedirectUri: text,
      loginHint: text,
      clientName: text,
      links: { createAccount: link(text), resetPassword: link(text) },
      providers: [{ name: text, url: link(text) }],
    }),
  approval: text =>
    approvalPage(signedInChrome(text), {
      clientName: text,
      redirectUri: text,
      userName: text,
      action: text,
      formRedirectUri: text,
      scopes: [
        { name: text, value: text, text: `${text} ${text}`, state: 'undecided' },
        { name: `${text}1`, value: `scope.${text}`, text: `a ${text}`, state: 'approved' },
        { name: `${text}2`, value: `scope.${text}`, text: `b ${text}`, state: 'denied' },
      ],
      links: { website: link(text), policy: text, terms: link(`${text}${text}`) },
      registeredUris: [text, `https://example.org/${text}`, 'https://other.example/'],
    }),
  error: text =>
    errorPage(chrome(text), {
      status: 400,
      code: text,
      title: text,
      description: text,
      back: { text, url: link(text) },
    }),
  'signed-out': text => signedOutPage(chrome(text), { signInUrl: link(text) }),
  'logout-confirmation': text =>
    logoutConfirmationPage(signedInChrome(text), { action: text, fields: { [`f${text}`]: text }, userName: text }),
  'device-code': text =>
    deviceCodePage(signedInChrome(text), { userCode: text, problem: { kind: 'refused', clientName: text } }),
  'device-decision': text =>
    deviceDecisionPage(signedInChrome(text), {
      clientName: text,
      userCode: text,
      userName: text,
      address: text,
      program: text,
      requestedAt: new Date(0),
      isSelfRegistered: true,
      scopes: [
        { scope: text, text },
        { scope: `a ${text}`, text: `a ${text}` },
      ],
    }),
  'device-done': text => deviceDonePage(signedInChrome(text), { clientName: text, isAllowed: true }),
  passcode: text => passcodePage(signedInChrome(text), { passcode: text }),
  'passcode-offer': text => passcodeOfferPage(signedInChrome(text)),
  home: text =>
    homePage(signedInChrome(text), { name: text, tiles: [{ name: text, url: link(text), icon: `*${text}` }] }),
  'home-empty': text => homePage(signedInChrome(text), { name: text, tiles: [] }),
}

function chrome(text: string): Chrome {
  return {
    texts: textsIn('en'),
    zoneName: text,
    isDefaultZone: text.length % 2 === 0,
    branding: {
      companyName: text,
      productLogo: `*${text}`,
      squareLogo: `*${text}`,
      footerLegalText: text,
      footerLinks: { [`f${text}`]: link(text) },
      banner: { text, logo: `*${text}`, link: link(text), textColor: text, backgroundColor: text },
    },
    basePath: text,
    assets: {
      stylesheet: text,
      icon: text,
      script: text,
      formPostScript: text,
      fragmentPostScript: text,
      logoutFramesScript: text,
      passkeyScript: text,
      factorStylesheet: text,
      zoneStylesheet: text,
    },
    csrf: { name: `c${text}`, value: text },
    year: 2026,
    about: text,
  }
}

const signedInChrome = (text: string): Chrome => ({
  ...chrome(text),
  user: { userName: text, signOutAction: text, lastSignIn: new Date(0) },
})

const HOSTILE = [
  { name: 'a script element', text: '<script>alert(1)</script>' },
  { name: 'a closed attribute', text: '" onfocus="alert(1)" autofocus x="' },
  { name: 'single quotes and backticks', text: "' onmouseover='alert(1)' `onclick=alert(1)`" },
  { name: 'the ends of title, textarea and comments', text: '</title></textarea>--><img src=x onerror=alert(1)>' },
  { name: 'a style element', text: '"><style>*{display:none}</style>' },
  { name: 'entities', text: '&lt;b&gt; &#60;b&#62; &quot;' },
  { name: 'right-to-left overrides', text: 'photo_\u202Egnp.exe \u2066x\u2067 مرحبا' },
  { name: 'control characters', text: 'a\u0000b\u0007c\u001b[31md\re\nf\u2028g' },
  { name: 'broken surrogates', text: '\ud800 \udfff <i>' },
  { name: 'ten thousand characters', text: '<&"'.repeat(3334) },
]

describe('Hostile text in props', () => {
  for (const [page, render] of Object.entries(everywhere)) {
    for (const { name, text } of HOSTILE) {
      it(`does not change the markup of ${page}: ${name}`, () => {
        assert.deepEqual(skeleton(render(text)), skeleton(render('harmless')))
      })
    }
    it(`does not change the text direction on ${page}`, () => {
      const hidden = /<input type="hidden"[^>]*>|(?:action|href|src|name|id|for|value)="[^"]*"/g // not displayed
      assert.doesNotMatch(render('a\u202Eb\u2067c').toString().replace(hidden, ''), /[\u202a-\u202e\u2066-\u2069]/)
    })
  }

  const links = {
    login: (url: string) =>
      loginPage(branded(url), {
        prompts: [],
        links: { createAccount: url, resetPassword: url },
        providers: [{ name: 'x', url }],
      }),
    error: (url: string) =>
      errorPage(branded(url), { status: 400, title: 'x', description: 'x', back: { text: 'x', url } }),
    'signed-out': (url: string) => signedOutPage(branded(url), { signInUrl: url }),
    home: (url: string) => homePage(branded(url), { name: 'x', tiles: [{ name: 'x', url }] }),
  }
  for (const [page, render] of Object.entries(links)) {
    for (const url of ['javascript:alert(1)', 'java\tscript:alert(1)', 'data:text/html,<b>x</b>']) {
      it(`adds no link on ${page} to ${JSON.stringify(url)}`, () => {
        const targets = tagsOf(render(url)).map(tag => tag.attributes['href'])
        assert.deepEqual(
          targets.filter(target => target === url),
          [],
        )
      })
    }
    // Covers layout and branding: banner.link
    it(`keeps harmless links on ${page}`, () => {
      const targets = tagsOf(render('https://example.org/1')).map(tag => tag.attributes['href'])
      assert.ok(targets.filter(target => target === 'https://example.org/1').length >= 3)
    })
  }

  it('is unchanged in hidden fields', () => {
    for (const { text } of HOSTILE) {
      const page = everywhere['login']?.(text)
      assert.ok(page)
      assert.equal(only(page, 'input', 'name', 'form_redirect_uri').attributes['value'], text)
      assert.equal(only(page, 'input', 'name', 'login_hint').attributes['value'], text)
    }
  })
})

const branded = (url: string): Chrome => ({
  ...anonymous,
  branding: { banner: { text: 'x', link: url }, footerLinks: { x: url } },
})

/** The same on every page, without content. */
const OUR_SCRIPT = { src: '/assets/latchkey.js', defer: '' }
const PASSKEY_SCRIPT = { src: '/assets/passkeys.js', defer: '' }

describe('Every page', () => {
  const stylesheet = Buffer.from(withoutComments(readFileSync('assets/latchkey.css', 'utf8')))
  for (const [name, page] of Object.entries(states)) {
    // Covers every answer in standard: pages: usable without script
    it(`has no inline script, style or event handler: ${name}`, () => {
      const tags = tagsOf(page)
      const scripts = tags.filter(tag => tag.name === 'script').map(({ attributes }) => attributes)
      const hasPasskey = tags.some(({ attributes }) => 'data-passkey' in attributes)
      assert.deepEqual(scripts, hasPasskey ? [OUR_SCRIPT, PASSKEY_SCRIPT] : [OUR_SCRIPT])
      for (const tag of tags) {
        assert.ok(!['style', 'iframe', 'object', 'embed', 'base'].includes(tag.name), tag.name)
        for (const attribute of Object.keys(tag.attributes)) assert.doesNotMatch(attribute, /^(?:on.*|style|srcdoc)$/)
      }
    })
    // Covers GET /login: page: heading
    it(`is a complete document with one heading and one main landmark: ${name}`, () => {
      assert.match(
        page.toString(),
        /^<!doctype html>\n<html lang="(?:en|ar)" dir="(?:ltr|rtl)">\n<head>\n<meta charset="utf-8">\n/,
      )
      const names = tagsOf(page).map(tag => tag.name)
      for (const once of ['title', 'h1', 'main', 'header', 'footer']) {
        assert.equal(names.filter(tag => tag === once).length, 1, once)
      }
      only(page, 'a', 'href', '#main')
      only(page, 'main', 'id', 'main')
    })
    it(`has unique ids: ${name}`, () => {
      const ids = tagsOf(page).flatMap(tag => tag.attributes['id'] ?? [])
      assert.equal(new Set(ids).size, ids.length)
    })
    it(`has the anti-forgery field in every form: ${name}`, () => {
      const forms = tagsOf(page).filter(tag => tag.name === 'form')
      const fields = tagsOf(page).filter(tag => tag.attributes['name'] === 'X-Svc-Csrf')
      assert.equal(fields.length, forms.length)
      for (const form of forms) assert.equal(form.attributes['method'], 'post')
    })
    it(`is smaller than 30 kB with stylesheet and icon: ${name}`, () => {
      const icon = readFileSync('assets/icon.svg')
      assert.ok(Buffer.byteLength(page.toString()) + stylesheet.length + icon.length < 30_000)
    })
  }

  it('uses a stylesheet smaller than 19 kB that loads no other files', () => {
    assert.ok(stylesheet.length < 19_000)
    assert.doesNotMatch(stylesheet.toString(), /url\(|@import/)
  })
})

const plainPage = (chrome: Chrome): Html => signedOutPage(chrome, { signInUrl: '/login' })

describe('Layout', () => {
  it('is titled with the company in the default zone', () => {
    assert.match(
      plainPage({ ...anonymous, branding: { companyName: 'Acme' } }).toString(),
      /<title>Signed out · Acme<\/title>/,
    )
  })
  it('has the company name on the sign-up page of the default zone, in uaa only', () => {
    const headingOf = (chrome: Partial<Chrome>): string =>
      /<h1>(.*)<\/h1>/.exec(activationSentPage({ ...anonymous, ...chrome }, undefined).toString())?.[1] ?? ''
    const texts = referenceTexts
    const branding = { companyName: 'A & B' }
    assert.equal(headingOf({ texts, branding }), 'Create your A &amp; B account')
    const others: readonly Partial<Chrome>[] = [
      { branding },
      { texts, branding, isDefaultZone: false },
      { texts, branding: { companyName: 'Cloud Foundry' } },
      { texts, branding: { companyName: '' } },
    ]
    for (const chrome of others) assert.equal(headingOf(chrome), 'Create your account')
  })
  it('is titled with the name of another zone', () => {
    const other = { ...anonymous, isDefaultZone: false, zoneName: 'Zone 1', branding: { companyName: 'Acme' } }
    assert.match(plainPage(other).toString(), /<title>Signed out · Zone 1<\/title>/)
    assert.match(plainPage(other).toString(), /© 2026 <bdi>Acme<\/bdi>/)
  })
  // Covers layout and branding: squareLogo
  it('links to the logos of the zone', () => {
    const branding = { companyName: 'Acme' }
    const logos = { squareLogo: '/square-logo.png', productLogo: '/product-logo.png' }
    const tags = tagsOf(plainPage({ ...anonymous, branding, assets: { ...anonymous.assets, ...logos } }))
    const product = tags.find(tag => tag.name === 'img')
    assert.deepEqual([product?.attributes['alt'], product?.attributes['src']], ['Acme', '/product-logo.png'])
    const icon = tags.find(tag => tag.attributes['rel'] === 'icon')
    assert.deepEqual([icon?.attributes['href'], icon?.attributes['type']], ['/square-logo.png', 'image/png'])
  })
  it('links to the square logo as icon and mark', () => {
    const { assets } = anonymous
    const tags = tagsOf(plainPage({ ...anonymous, assets: { ...assets, squareLogo: '/square-logo.png' } }))
    const icon = tags.find(tag => tag.attributes['rel'] === 'icon')
    assert.deepEqual([icon?.attributes['href'], icon?.attributes['type']], ['/square-logo.png', 'image/png'])
    const mark = tags.find(tag => tag.attributes['class'] === 'mark logo')
    assert.equal(mark?.attributes['src'], '/square-logo.png')
  })
  it('shows the default icon without a logo', () => {
    const tags = tagsOf(plainPage(anonymous))
    const sources = tags.flatMap(({ name, attributes }) => (name === 'img' ? (attributes['src'] ?? []) : []))
    assert.deepEqual(sources, ['/assets/icon.svg'])
  })
  it('never embeds a logo of the branding', () => {
    const logo = png(4, 4, [1, 2, 3])
    const branding = { productLogo: logo, squareLogo: logo, banner: { logo } }
    assert.ok(
      !plainPage({ ...anonymous, branding })
        .toString()
        .includes(logo),
    )
  })
  // Covers layout and branding: banner.logo
  // Covers Zone config in effect: branding.banner
  it('prefers the logo of a banner to its text', () => {
    const assets = { ...anonymous.assets, bannerLogo: '/banner-logo.png' }
    const text = plainPage({ ...anonymous, assets, branding: { banner: { text: 'Notice' } } }).toString()
    assert.match(text, /<div class="banner banner-header"><img src="\/banner-logo\.png" alt="Notice"><\/div>/)
  })
  it('replaces the copyright line with the legal text of the zone', () => {
    const text = plainPage({ ...anonymous, branding: { footerLegalText: 'Ours.' } }).toString()
    assert.match(text, /<footer class="footer">\s*<p class="copyright" title="[^"]+"><bdi>Ours\.<\/bdi><\/p>/)
    assert.doesNotMatch(text, /©/)
  })
  // Covers layout and branding: footer version title
  it('shows version and build in the title of its footer', () => {
    const about = 'Version: 1.2.3, Server: https://id.example/?a&"b"'
    assert.equal(only(plainPage({ ...anonymous, about }), 'p', 'title', about).attributes['title'], about)
  })
  // Covers layout and branding: last login time
  it('shows the time of the previous sign-in, if any', () => {
    const first = { ...signedIn, user: { userName: 'm', signOutAction: '/logout.do' } }
    for (const page of [plainPage(anonymous), plainPage(first)]) assert.doesNotMatch(page.toString(), /last_login_time/)
    const { attributes } = only(plainPage(signedIn), 'span', 'id', 'last_login_time')
    assert.equal(attributes['last-login-success-time'], String(Date.parse('2026-01-02T03:04:05Z')))
    assert.match(
      plainPage(signedIn).toString(),
      /Last sign-in: <time datetime="2026-01-02T03:04:05\.000Z" data-moment>January 2, 2026 at 3:04 AM Coordinated Universal Time<\/time>/,
    )
  })
  it('has a sign-out form only for signed-in users', () => {
    const form = only(plainPage(signedIn), 'form', 'class', 'person')
    assert.deepEqual(form.attributes, { class: 'person', action: '/logout.do', method: 'post' })
    assert.ok(!tagsOf(plainPage(anonymous)).some(tag => tag.name === 'form'))
  })
  it('links home below the base path', () => {
    assert.equal(only(plainPage({ ...signedIn, basePath: '/uaa' }), 'a', 'class', 'brand').attributes['href'], '/uaa/')
  })
})

/** Names of the fields with autofocus. */
const focused = (page: Html): readonly (string | undefined)[] =>
  tagsOf(page)
    .filter(tag => 'autofocus' in tag.attributes)
    .map(tag => tag.attributes['name'])

describe('Sign-in page', () => {
  it('labels the user name as messages do, unless the zone configures a label', () => {
    const label = (chrome: Chrome, text: string): string | undefined =>
      /<label for="username"><bdi>([^<]*)/.exec(
        loginPage(chrome, { ...props, prompts: [{ name: 'username', type: 'text', text }] }).toString(),
      )?.[1]
    assert.equal(label(anonymous, 'Email'), 'User name')
    assert.equal(label({ ...anonymous, texts: textsIn('de') }, 'Email'), 'Benutzername')
    assert.equal(label(anonymous, 'Badge number'), 'Badge number')
    assert.equal(label({ ...anonymous, texts: referenceTexts }, 'Email'), 'Email')
  })
  const props: LoginProps = {
    prompts: [
      { name: 'username', type: 'text', text: 'Email' },
      { name: 'password', type: 'password', text: 'Password' },
      { name: 'passcode', type: 'password', text: 'One-time code' },
    ],
    links: { createAccount: '/create_account', resetPassword: '/forgot_password' },
    providers: [{ name: 'Company', url: 'https://idp.example.org/?a=1&b=2' }],
  }
  for (const basePath of ['', '/uaa']) {
    it(`has UAA’s opening form tag, below "${basePath}"`, () => {
      const text = loginPage({ ...anonymous, basePath }, props).toString()
      assert.ok(
        text.includes(
          `<form action="${basePath}/login.do" method="post" novalidate="novalidate" accept-charset="UTF-8">`,
        ),
      )
    })
  }
  it('writes hidden fields as type, name, value', () => {
    const text = loginPage(anonymous, { ...props, formRedirectUri: 'http://x/?a&b', loginHint: '%7B%7D' }).toString()
    assert.ok(text.includes('<input type="hidden" name="X-Svc-Csrf" value="q1w2e3r4t5y6u7i8o9p0aA">'))
    assert.ok(text.includes('<input type="hidden" name="form_redirect_uri" value="http://x/?a&amp;b">'))
    assert.ok(text.includes('<input type="hidden" name="login_hint" value="%7B%7D">'))
  })
  it('omits hidden fields without a value', () => {
    assert.doesNotMatch(loginPage(anonymous, props).toString(), /form_redirect_uri|login_hint/)
  })
  it('has labelled fields for users and password managers', () => {
    const page = loginPage(anonymous, props)
    for (const [name, autocomplete, type] of [
      ['username', 'username', 'text'],
      ['password', 'current-password', 'password'],
    ] as const) {
      const { attributes } = only(page, 'input', 'name', name)
      assert.deepEqual([attributes['id'], attributes['type']], [name, type])
      assert.deepEqual(
        [attributes['autocomplete'], attributes['autocapitalize'], attributes['spellcheck']],
        [autocomplete, 'none', 'false'],
      )
      only(page, 'label', 'for', name)
    }
    assert.equal(only(page, 'input', 'type', 'submit').attributes['value'], 'Sign in')
  })
  // Covers GET /login: page: passcode prompt is never shown
  it('never shows the passcode prompt', () => {
    assert.doesNotMatch(loginPage(anonymous, props).toString(), /passcode|One-time/)
  })
  it('shows other prompts as text fields with their own ids', () => {
    const prompts = [...props.prompts, { name: 'main', type: 'hidden', text: 'Branch' }]
    const { attributes } = only(loginPage(anonymous, { ...props, prompts }), 'input', 'name', 'main')
    assert.deepEqual([attributes['id'], attributes['type']], ['prompt-2', 'text'])
  })
  it('focuses the first empty field', () => {
    assert.deepEqual(focused(loginPage(anonymous, props)), ['username'])
    assert.deepEqual(focused(loginPage(anonymous, { ...props, userName: 'marissa' })), ['password'])
    assert.deepEqual(focused(loginPage(anonymous, { ...props, userName: '' })), ['username'])
  })
  it('fills in the user name only', () => {
    const page = loginPage(anonymous, { ...props, userName: 'marissa' })
    assert.equal(only(page, 'input', 'name', 'username').attributes['value'], 'marissa')
    assert.equal(only(page, 'input', 'name', 'password').attributes['value'], undefined)
  })
  it('announces an error, and references it from the fields', () => {
    const page = loginPage(anonymous, { ...props, message: { kind: 'error', text: 'No.' } })
    assert.deepEqual(only(page, 'div', 'role', 'alert').attributes, {
      id: 'message',
      class: 'alert alert-error',
      role: 'alert',
    })
    assert.match(page.toString(), /<div id="message" class="alert alert-error"[^]*<p>No\.<\/p>\s*<\/div>/)
    assert.equal(only(page, 'input', 'name', 'password').attributes['aria-describedby'], 'message')
  })
  it('announces a success, without references from the fields', () => {
    const page = loginPage(anonymous, { ...props, message: { kind: 'success', text: 'Yes.' } })
    only(page, 'div', 'class', 'alert alert-success')
    assert.equal(only(page, 'input', 'name', 'password').attributes['aria-describedby'], undefined)
  })
  it('links to providers and to self-service', () => {
    const page = loginPage(anonymous, props)
    assert.equal(
      only(page, 'a', 'class', 'saml-login-link button plain').attributes['href'],
      'https://idp.example.org/?a=1&b=2',
    )
    assert.match(page.toString(), /href="\/forgot_password">Reset password<\/a>/)
    assert.match(page.toString(), /href="\/create_account">Create account<\/a>/)
  })
  it('omits self-service links if there are none', () => {
    assert.doesNotMatch(loginPage(anonymous, { ...props, links: {} }).toString(), /Reset password|Create account/)
  })
  it('omits the form without prompts', () => {
    const page = loginPage(anonymous, { ...props, prompts: [{ name: 'passcode', type: 'password', text: 'Code' }] })
    assert.ok(!tagsOf(page).some(tag => tag.name === 'form'))
  })
  it('shows the name of the requesting application', () => {
    const text = loginPage(anonymous, { ...props, clientName: 'Cloud' }).toString()
    assert.match(text, /to continue to <strong><bdi>Cloud<\/bdi><\/strong>/)
  })
  it('does not reload itself, like every other page', () => {
    for (const page of Object.values(states)) assert.doesNotMatch(page.toString(), /http-equiv/)
  })
})

const approvalFor = (redirectUri: string): Html =>
  approvalPage(signedIn, {
    clientName: 'Cloud',
    redirectUri,
    userName: 'marissa',
    action: '/oauth/authorize?response_type=code&client_id=app',
    formRedirectUri: 'http://localhost/oauth/authorize?x=1&y=2',
    scopes: [
      { name: 'scope.0', value: 'scope.cloud.read', text: 'Read', state: 'undecided' },
      { name: 'scope.1', value: 'scope.profile', text: 'profile', state: 'approved' },
      { name: 'scope.2', value: 'scope.cloud.write', text: 'Write', state: 'denied' },
    ],
  })

describe('Approval page', () => {
  const page = approvalFor('https://app.example.org:8443/cb?secret=1')

  it('posts to the authorization request', () => {
    const { attributes } = only(page, 'form', 'id', 'application_authorization')
    assert.deepEqual(
      [attributes['action'], attributes['method']],
      ['/oauth/authorize?response_type=code&client_id=app', 'post'],
    )
    assert.equal(
      only(page, 'input', 'name', 'form_redirect_uri').attributes['value'],
      'http://localhost/oauth/authorize?x=1&y=2',
    )
  })
  const boxes = [
    { name: 'scope.0', value: 'scope.cloud.read', checked: true, state: 'undecided' },
    { name: 'scope.1', value: 'scope.profile', checked: true, state: 'approved' },
    { name: 'scope.2', value: 'scope.cloud.write', checked: false, state: 'denied' },
  ]
  for (const { name, value, checked, state } of boxes) {
    it(`has ${checked ? 'a checked' : 'an unchecked'} box for a scope that is ${state}`, () => {
      const { attributes } = only(page, 'input', 'id', name)
      assert.deepEqual([attributes['type'], attributes['name'], attributes['value']], ['checkbox', name, value])
      assert.equal('checked' in attributes, checked)
      only(page, 'label', 'for', name)
      only(page, 'li', 'class', state)
    })
  }
  for (const [id, value] of [
    ['deny', 'false'],
    ['authorize', 'true'],
  ] as const) {
    it(`posts ${value} with the button #${id}`, () => {
      const { attributes } = only(page, 'button', 'id', id)
      assert.deepEqual(
        [attributes['type'], attributes['name'], attributes['value']],
        ['submit', 'user_oauth_approval', value],
      )
    })
  }
  it('shows the scope beside its description', () => {
    assert.match(page.toString(), /<bdi>Read<\/bdi> <small><code><bdi>cloud.read<\/bdi><\/code><\/small>/)
    assert.equal(page.toString().match(/<bdi>profile<\/bdi>/g)?.length, 1)
  })

  it('shows openid as mandatory, and as a checkbox in uaa', () => {
    const props = {
      clientName: 'ledger',
      redirectUri: 'https://app.example/',
      userName: 'marissa',
      action: '/oauth/authorize',
      formRedirectUri: 'http://localhost/',
      scopes: [{ name: 'scope.0', value: 'scope.openid', text: 'Know who you are', state: 'undecided' }],
    } as const
    const ours = approvalPage(signedIn, props)
    assert.equal(only(ours, 'input', 'value', 'scope.openid').attributes['type'], 'hidden')
    assert.match(ours.toString(), /<bdi>Know who you are<\/bdi> <small>needed to sign in<\/small>/)
    const reference = approvalPage({ ...signedIn, texts: referenceTexts }, props)
    assert.equal(only(reference, 'input', 'id', 'scope.0').attributes['type'], 'checkbox')
  })
  it('warns about a self-registered application, with its other hosts and links', () => {
    const props = {
      clientName: 'ledger',
      redirectUri: 'https://a.example/x',
      userName: 'm',
      action: '',
      formRedirectUri: '',
      scopes: [],
    }
    assert.doesNotMatch(approvalPage(signedIn, props).toString(), /self_registered|client_links/)
    const registeredUris = [
      'https://a.example/x',
      'https://a.example/y',
      'https://b.example/x',
      'com.example.app:/cb?x',
    ]
    const links = { website: 'https://c.example/', policy: 'http://c.example/', terms: 'javascript:alert(1)' }
    const text = approvalPage(signedIn, { ...props, registeredUris, links }).toString()
    assert.match(text, /registered itself/)
    assert.match(
      text,
      /also return to <strong><bdi>b\.example<\/bdi><\/strong>, <strong><bdi>com\.example\.app:\/cb<\/bdi>/,
    )
    assert.match(
      text,
      /<a href="https:\/\/c\.example\/" target="_blank" rel="noopener noreferrer nofollow">Website<\/a> \(<bdi>c\.example<\/bdi>\)/,
    )
    assert.doesNotMatch(text, /javascript:|http:\/\/c\.example|Privacy policy/)
  })
  it('shows the icon of the application, or the initial of its name', () => {
    const props = { clientName: 'ledger', redirectUri: '', userName: 'm', action: '', formRedirectUri: '', scopes: [] }
    const icon = png(4, 4, [1, 2, 3])
    assert.match(approvalPage(signedIn, props).toString(), /<span class="initial" aria-hidden="true">L<\/span>/)
    const withIcon = approvalPage(signedIn, { ...props, clientIcon: icon })
    only(withIcon, 'img', 'src', `data:image/png;base64,${icon}`)
    assert.doesNotMatch(withIcon.toString(), /class="initial"/)
  })

  const destinations = [
    { uri: 'https://app.example.org:8443/cb?secret=1', want: 'app.example.org:8443' },
    { uri: 'https://user:pw@app.example.org/', want: 'app.example.org' },
    { uri: 'https://bücher.example/', want: 'xn--bcher-kva.example' },
    { uri: `https://${'sub.'.repeat(60)}example.org/`, want: `${'sub.'.repeat(60)}example.org` },
    { uri: 'org.example.app:/callback?code=1#x', want: 'org.example.app:/callback' },
    { uri: 'no uri?at all', want: 'no uri' },
  ]
  for (const { uri, want } of destinations) {
    it(`shows the host of ${uri.slice(0, 60)}`, () => {
      assert.ok(approvalFor(uri).toString().includes(`You then return to <strong><bdi>${want}</bdi></strong>`))
    })
  }
})

describe('Other pages', () => {
  it('show status and code of an error', () => {
    const text = errorPage(anonymous, { status: 401, code: 'invalid_client', title: 'T', description: 'D' }).toString()
    assert.match(text, /Error 401 · <code><bdi>invalid_client<\/bdi><\/code>/)
    assert.match(text, /<h1><bdi>T<\/bdi><\/h1>[^]*<bdi>D<\/bdi>/)
  })
  it('tell users what to do about an error, with technical details in a details element', () => {
    const back = { text: 'Go to the start page', url: '/' }
    const technical = errorPage(anonymous, {
      status: 400,
      code: 'invalid_request',
      title: 'T',
      back,
      ...describedIn(textsIn('en'), 'Invalid redirect https://app.example/ did not match one of the registered values'),
    }).toString()
    assert.match(technical, /<p class="lead">Something is wrong with the link or the application/)
    assert.match(technical, /href="\/"><bdi>Go to the start page/)
    assert.match(technical, /<details class="technical">[^]*Invalid redirect https:[^]*Error 400[^]*<\/details>/)
    const unknown = errorPage(anonymous, { status: 400, title: 'T', ...describedIn(textsIn('de'), 'Bad teapot') })
    assert.match(unknown.toString(), /<details[^]*<bdi lang="en">Bad teapot<\/bdi>/)
    const fault = errorPage(anonymous, {
      status: 500,
      title: 'T',
      ...describedIn(textsIn('en'), 'Internal Server Error'),
    })
    assert.match(fault.toString(), /<p class="lead">The problem is on our side[^]*<details/)
    for (const answered of [
      'Cannot approve uninitialized authorization request.',
      'Changes were detected from the original authorization request.',
    ]) {
      const twice = errorPage(anonymous, { status: 400, title: 'T', ...describedIn(textsIn('en'), answered) })
      assert.match(twice.toString(), /<p class="lead">You have answered this question already[^]*<details/)
    }
    const ofUsers = describedIn(textsIn('en'), 'Too many attempts. Try again in 5 minutes.')
    assert.doesNotMatch(errorPage(anonymous, { status: 429, title: 'T', ...ofUsers }).toString(), /<details/)
  })
  it('ask for confirmation of a logout with one button', () => {
    const page = logoutConfirmationPage(signedIn, { action: '/logout.do', fields: {}, userName: 'marissa' })
    assert.equal(tagsOf(page).filter(tag => tag.name === 'button').length, 1)
    only(page, 'input', 'name', 'X-Svc-Csrf')
  })
  it('keep the parameters of a logout request in the confirmation', () => {
    const page = logoutConfirmationPage(
      { ...signedIn, basePath: '/uaa' },
      { action: '/uaa/logout.do', fields: { state: 'a&b', 'X-Svc-Csrf': 'forged' }, userName: 'marissa' },
    )
    const { attributes } = only(page, 'form', 'id', 'logout_confirmation')
    assert.deepEqual([attributes['action'], attributes['method']], ['/uaa/logout.do', 'post'])
    assert.equal(only(page, 'input', 'name', 'state').attributes['value'], 'a&b')
    assert.doesNotMatch(page.toString(), /forged/)
    only(page, 'a', 'class', 'button plain')
  })
  it('link to sign-in after a logout', () => {
    assert.match(signedOutPage(anonymous, { signInUrl: '/login' }).toString(), /href="\/login">Sign in again<\/a>/)
  })
  it('show the initial of an application without an icon', () => {
    const text = homePage(signedIn, { name: 'm', tiles: [{ name: 'ledger', url: '/x', icon: 'no!' }] }).toString()
    assert.match(text, /<span class="initial" aria-hidden="true">L<\/span><bdi>ledger<\/bdi>/)
  })
  it('let a phone write capitals where a code has them', () => {
    const field = only(deviceCodePage(signedIn, {}), 'input', 'id', 'user_code')
    assert.equal(field.attributes['autocapitalize'], 'characters')
  })
  it('greet with a long name in one piece, or broken at its punctuation', () => {
    const heading = (name: string) => /<h1>(.*)<\/h1>/.exec(homePage(signedIn, { name, tiles: [] }).toString())?.[1]
    assert.equal(heading('kai@shop.example'), 'Hello, <bdi>kai@shop.example</bdi>')
    assert.equal(
      heading('kai.berg@harbour-authority.example'),
      'Hello, <bdi>kai.<wbr>berg<wbr>@harbour-<wbr>authority.<wbr>example</bdi>',
    )
    assert.equal(heading('<b>@b.'.repeat(4)), `Hello, <bdi>${'&lt;b&gt;<wbr>@b.<wbr>'.repeat(4).slice(0, -5)}</bdi>`)
  })
  it('show a home page without applications', () => {
    const page = homePage(signedIn, { name: 'marissa', tiles: [] })
    assert.match(page.toString(), /<h1>Hello, <bdi>marissa<\/bdi><\/h1>[^]*You are signed in\./)
    assert.ok(!tagsOf(page).some(tag => tag.attributes['class'] === 'tiles'))
  })
})
