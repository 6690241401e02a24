// Every page in every state that looks different, for the tests that draw them.
import { crc32, deflateSync } from 'node:zlib'
import type { Html } from '../../src/base/html.ts'
import { approvalPage, type ScopeChoice } from '../../src/pages/approval.ts'
import { errorPage } from '../../src/pages/error.ts'
import { homePage } from '../../src/pages/home.ts'
import type { Chrome } from '../../src/pages/layout.ts'
import { type LoginProps, loginPage } from '../../src/pages/login.ts'
import { logoutConfirmationPage } from '../../src/pages/logout-confirmation.ts'
import { messageFor } from '../../src/pages/messages.ts'
import { passcodeOfferPage, passcodePage } from '../../src/pages/passcode.ts'
import { signedOutPage } from '../../src/pages/signed-out.ts'

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(data.length)
  body.copy(frame, 4)
  frame.writeUInt32BE(crc32(body), body.length + 4)
  return frame
}

/** A plain picture in base64. */
export function png(width: number, height: number, [red, green, blue]: readonly [number, number, number]): string {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8) // eight bits of each colour, no transparency
  const row = Buffer.from([0, ...Array.from({ length: width }, () => [red, green, blue]).flat()])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64')
}

/** What surrounds a page for someone who is not signed in. */
export const anonymous: Chrome = {
  zoneName: 'svc',
  isDefaultZone: true,
  branding: {},
  basePath: '',
  assets: {
    stylesheet: '/assets/latchkey.css',
    icon: '/assets/icon.svg',
    copyScript: '/assets/copy-to-clipboard.js',
    formPostScript: '/assets/form-post.js',
  },
  csrf: { name: 'X-Svc-Csrf', value: 'q1w2e3r4t5y6u7i8o9p0aA' },
  year: 2026,
}

/** What surrounds a page for someone who is signed in. */
export const signedIn: Chrome = {
  ...anonymous,
  person: { userName: 'marissa', signOutAction: '/logout.do' },
}

const branded: Chrome = {
  ...anonymous,
  zoneName: 'Harbour Authority',
  isDefaultZone: false,
  branding: {
    companyName: 'Harbour Authority',
    productLogo: png(200, 40, [27, 54, 120]),
    squareLogo: png(32, 32, [27, 54, 120]),
    footerLegalText: 'Operated by the Harbour Authority. Use is recorded.',
    footerLinks: { Privacy: 'https://example.org/privacy', 'Terms of use': 'https://example.org/terms' },
    banner: {
      text: 'Maintenance on Sunday from 6 to 8',
      link: 'https://example.org/status',
      backgroundColor: '#ffd54a',
    },
  },
  assets: { ...anonymous.assets, zoneStylesheet: '/zone.css' },
}

const prompts = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
  { name: 'passcode', type: 'password', text: 'One-time code (get one at http://localhost:8080/passcode)' },
]
const links = { createAccount: '/create_account', resetPassword: '/forgot_password' }
const login: LoginProps = { prompts, links, providers: [] }
const providers = [
  { name: 'Company directory', url: '/saml2/authenticate/directory' },
  { name: 'Harbour Single Sign-On', url: 'https://sso.example.org/authorize?client_id=1&state=2' },
]

const scopes: readonly ScopeChoice[] = [
  { name: 'scope.0', value: 'scope.openid', text: 'Know who you are', state: 'undecided' },
  { name: 'scope.1', value: 'scope.cloud.read', text: 'Read the cloud', state: 'undecided' },
  { name: 'scope.2', value: 'scope.profile', text: 'profile', state: 'approved' },
  { name: 'scope.3', value: 'scope.cloud.write', text: 'Change what runs in the cloud', state: 'denied' },
]
const approval = {
  clientName: 'Cloud Console',
  redirectUri: 'https://console.example.org/callback?x=1',
  userName: 'marissa',
  action: '/oauth/authorize?response_type=code&client_id=app',
  formRedirectUri: 'http://localhost:8080/oauth/authorize?response_type=code&client_id=app',
  scopes,
}

const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
const hostile = `"><script src=/x.js></script><img src=x onerror=alert(1)> \u202egnp.exe ${long.repeat(3)} مرحبا بالعالم`
const crowded: Chrome = {
  ...signedIn,
  zoneName: hostile,
  isDefaultZone: false,
  branding: {
    companyName: hostile,
    footerLegalText: hostile,
    footerLinks: { [long]: 'https://example.org/', [hostile]: 'https://example.org/' },
    banner: { text: hostile, textColor: '#777777' },
  },
  person: { userName: hostile, signOutAction: '/logout.do' },
}
const { person: _, ...crowdedAnonymous } = crowded

const tiles = [
  { name: 'Cloud Console', url: 'https://console.example.org/' },
  { name: 'Ledger', url: 'https://ledger.example.org/', icon: png(44, 44, [120, 54, 27]) },
  { name: 'Berth planning and pilotage', url: 'https://berths.example.org/' },
  { name: 'Wiki', url: 'https://wiki.example.org/' },
]

/** By name, which is a file name too. */
export const states: Readonly<Record<string, Html>> = {
  login: loginPage(anonymous, login),
  'login-client': loginPage(anonymous, { ...login, clientName: 'Cloud Console', formRedirectUri: 'http://localhost/' }),
  'login-failed': loginPage(anonymous, {
    ...login,
    userName: 'marissa@example.org',
    message: messageFor('error', 'login_failure'),
  }),
  'login-success': loginPage(anonymous, { ...login, links: {}, message: messageFor('success', 'password_reset') }),
  'login-providers': loginPage(branded, { ...login, clientName: 'Berth planning', providers }),
  'login-providers-only': loginPage(anonymous, {
    ...login,
    prompts: [],
    links: {},
    providers,
    message: messageFor('error', 'invalid_idp'),
  }),
  'login-nothing': loginPage(anonymous, { prompts: [], links: {}, providers: [] }),
  'login-long': loginPage(crowdedAnonymous, {
    prompts: [...prompts, { name: hostile, type: 'number', text: hostile }],
    userName: hostile,
    message: { kind: 'error', text: hostile },
    clientName: hostile,
    links,
    providers: [{ name: hostile, url: 'https://example.org/' }],
  }),
  approval: approvalPage(signedIn, approval),
  'approval-long': approvalPage(crowded, {
    ...approval,
    clientName: hostile,
    userName: hostile,
    redirectUri: `https://${'sub.'.repeat(50)}example.org/`,
    scopes: [
      { name: 'scope.0', value: `scope.${long}`, text: hostile, state: 'undecided' },
      { name: 'scope.1', value: 'scope.openid', text: hostile, state: 'denied' },
    ],
  }),
  error: errorPage(anonymous, {
    status: 400,
    code: 'invalid_request',
    title: 'That link does not work',
    description:
      'The address to return to is not one that this application registered. Start again from the application.',
    back: { text: 'Go to the start page', url: '/' },
  }),
  'error-signed-in': errorPage(signedIn, {
    status: 404,
    title: 'Page not found',
    description: 'There is nothing at this address.',
    back: { text: 'Go to the start page', url: '/' },
  }),
  'error-long': errorPage(crowded, { status: 500, code: long, title: hostile, description: hostile.repeat(3) }),
  'signed-out': signedOutPage(anonymous, { signInUrl: '/login' }),
  'logout-confirmation': logoutConfirmationPage(signedIn, {
    action: '/logout.do',
    fields: { client_id: 'app', state: 'abc' },
    userName: 'marissa',
  }),
  'logout-confirmation-long': logoutConfirmationPage(crowded, { action: '/logout.do', fields: {}, userName: hostile }),
  passcode: passcodePage(signedIn, { passcode: 'k3Wq-_0Oo1lIJhV8xZtB5nMCdYeR2sPu' }),
  'passcode-offer': passcodeOfferPage(signedIn),
  'passcode-offer-long': passcodeOfferPage(crowded),
  home: homePage(signedIn, { userName: 'marissa', tiles }),
  'home-empty': homePage(signedIn, { userName: 'marissa', tiles: [] }),
  'home-long': homePage(crowded, {
    userName: hostile,
    tiles: [
      { name: hostile, url: 'https://example.org/' },
      { name: long, url: 'https://example.org/' },
    ],
  }),
}
