// Tells the page around this frame whether the person has changed (OpenID Connect Session Management §3.2). Old-style on
// purpose: whoever frames it may be old, and nothing here may wait for a promise. Which of three dialects is spoken stands
// in the element `frame`; see docs/compatibility.md, L6.

/* exported handleMessage */
function valueOf(id) {
  var field = document.getElementById(id)
  return field ? field.value : ''
}

var clientId = valueOf('clientId')
var messageOrigin = valueOf('messageOrigin')
var dialect = valueOf('frame')

var cookieStart = (valueOf('cookie') || 'Current-User') + '='

/** The id in the zone's cookie `Current-User`; '' when nobody is signed in. */
function currentUser() {
  var cookies = document.cookie.split(/;\s*/)
  for (var place = 0; place < cookies.length; place += 1) {
    if (cookies[place].indexOf(cookieStart) === 0) return userIn(cookies[place].slice(cookieStart.length))
  }
  return ''
}

function userIn(value) {
  try {
    var user = JSON.parse(decodeURIComponent(value))
    return typeof user.userId === 'string' ? user.userId : ''
  } catch (ignored) {
    return ''
  }
}

/** SHA-256 (FIPS 180-4) of a text's UTF-8, in hexadecimal: the browser's own is a promise, and absent without TLS. */
function sha256(text) {
  var bytes = unescape(encodeURIComponent(text))
  var words = []
  var i
  for (i = 0; i < bytes.length; i += 1) words[i >> 2] |= bytes.charCodeAt(i) << (24 - (i % 4) * 8)
  words[bytes.length >> 2] |= 0x80 << (24 - (bytes.length % 4) * 8)
  var last = (((bytes.length + 8) >> 6) << 4) + 15
  words[last] = bytes.length * 8
  var state = []
  var constants = []
  for (var candidate = 2; constants.length < 64; candidate += 1) {
    var isPrime = true
    for (var factor = 2; factor * factor <= candidate; factor += 1) if (candidate % factor === 0) isPrime = false
    if (!isPrime) continue
    if (state.length < 8) state.push((Math.pow(candidate, 1 / 2) * 4294967296) | 0)
    constants.push((Math.pow(candidate, 1 / 3) * 4294967296) | 0)
  }
  for (var block = 0; block <= last; block += 16) {
    var v = state.slice()
    var w = []
    for (i = 0; i < 64; i += 1) {
      if (i < 16) w[i] = words[block + i] | 0
      else {
        var x = w[i - 15]
        var y = w[i - 2]
        var s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
        var s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
        w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0
      }
      var e = v[4]
      var a = v[0]
      var t1 =
        (v[7] +
          (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) +
          ((e & v[5]) ^ (~e & v[6])) +
          constants[i] +
          w[i]) |
        0
      var t2 =
        ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) +
          ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]))) |
        0
      v = [(t1 + t2) | 0, v[0], v[1], v[2], (v[3] + t1) | 0, v[4], v[5], v[6]]
    }
    for (i = 0; i < 8; i += 1) state[i] = (state[i] + v[i]) | 0
  }
  var hex = ''
  for (i = 0; i < 8; i += 1) hex += ('00000000' + (state[i] >>> 0).toString(16)).slice(-8)
  return hex
}

/** Whether a `session_state` still belongs to the person who is signed in now. */
function checkState(client, origin, sessionState) {
  // Any text before and after the dot: uaa-singular begins with `nostate.nosalt`, and asks who is signed in at `changed` only.
  var salt = /^[^.\s]+\.([^.\s]+)$/.exec(sessionState)
  if (!salt) return 'error'
  var now = sha256(client + ' ' + origin + ' ' + currentUser() + ' ' + salt[1]) + '.' + salt[1]
  return now === sessionState ? 'unchanged' : 'changed'
}

/** What the page around is told; undefined when it is told nothing. */
function answerTo(data, origin) {
  var parts = typeof data === 'string' ? data.split(' ') : []
  if (dialect === 'session') {
    if (messageOrigin !== (origin === 'null' ? 'file://' : origin)) return undefined
    if (parts.length !== 2 || parts[0] !== clientId) return 'error'
    return parts[1] === (currentUser() || '~') ? 'unchanged' : 'changed'
  }
  if (parts.length !== 2 || parts[0] === '' || parts[1] === '') return 'error'
  if (dialect === 'session_management' && (origin !== messageOrigin || parts[0] !== clientId)) return 'error'
  return checkState(parts[0], origin, parts[1])
}

function handleMessage(event) {
  var answer = answerTo(event.data, event.origin)
  if (answer === undefined || !event.source) return
  event.source.postMessage(answer, event.origin === 'null' ? '*' : event.origin)
}

window.addEventListener('message', handleMessage, false)
