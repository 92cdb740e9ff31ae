// What a client in a browser needs of wire format 2, with nothing but what browsers have built in.

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, "0")).join("");
const text = (words) => new TextEncoder().encode(words);
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => Array.from(new Uint8Array(part))));

async function isSigned(document, kind, publicKey) {
  const [content, signature, ...more] = document.split("\n");
  if (more.length || !/^[0-9a-f]{128}$/.test(signature)) return false;
  const key = await crypto.subtle.importKey("raw", bytes(publicKey), "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, bytes(signature), text(`dpmean 2 ${kind}\n${content}`));
}

async function digest(document) {
  return hex(await crypto.subtle.digest("SHA-256", text(document.split("\n")[0])));
}

async function hmac(key, content) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return crypto.subtle.sign("HMAC", imported, content);
}

// RFC 9180, sections 4 and 5.1, in base mode. All lengths are at most one block of SHA-256.
const extract = (suite, salt, label, content) =>
  hmac(salt.length ? salt : new Uint8Array(32), join(text("HPKE-v1"), suite, text(label), content));
const expand = async (suite, secret, label, info, length) =>
  (await hmac(secret, join([0, length], text("HPKE-v1"), suite, text(label), info, [1]))).slice(0, length);

async function seal(message, publicKey, digest) {
  const kem = join(text("KEM"), [0, 32]), suite = join(text("HPKE"), [0, 32, 0, 1, 0, 2]);
  const info = join(text("dpmean 2 envelope\n"), bytes(digest));
  const pair = await crypto.subtle.generateKey("X25519", true, ["deriveBits"]);
  const own = await crypto.subtle.exportKey("raw", pair.publicKey);
  const other = await crypto.subtle.importKey("raw", bytes(publicKey), "X25519", false, []);
  const point = await crypto.subtle.deriveBits({ name: "X25519", public: other }, pair.privateKey, 256);
  const root = await extract(kem, [], "eae_prk", point);
  const shared = await expand(kem, root, "shared_secret", join(own, bytes(publicKey)), 32);
  const context = join([0], await extract(suite, [], "psk_id_hash", []), await extract(suite, [], "info_hash", info));
  const secret = await extract(suite, new Uint8Array(shared), "secret", []);
  const key = await expand(suite, secret, "key", context, 32);
  const nonce = await expand(suite, secret, "base_nonce", context, 12);
  const aes = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return hex(join(own, await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, aes, bytes(message))));
}
