// SPDX-License-Identifier: GPL-2.0-or-later
//! framehop behind four C functions (see peers.h), set up as in its usual applications: files are memory-mapped, and all
//! processes share one cache.

use std::ffi::{c_char, CStr};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSegment};

// A mapped file, which stays mapped.
type Part = &'static [u8];

#[no_mangle]
pub extern "C" fn framehop_cache_new() -> *mut CacheX86_64 {
    Box::into_raw(Box::new(CacheX86_64::new()))
}

#[no_mangle]
pub extern "C" fn framehop_process_new() -> *mut UnwinderX86_64<Part> {
    Box::into_raw(Box::new(UnwinderX86_64::new()))
}

fn open(path: &str, start: u64, end: u64, offset: u64) -> Option<Module<Part>> {
    let map: Part = Box::leak(Box::new(unsafe { Mmap::map(&std::fs::File::open(path).ok()?).ok()? }));
    let file = object::File::parse(map).ok()?;
    let text = file.segments().find(|s| {
        let (at, sz) = s.file_range();
        at <= offset && offset < at + sz
    })?;
    let bias = start.wrapping_sub(offset - text.file_range().0 + text.address());
    let part = |name: &str| {
        let section = file.section_by_name(name)?;
        let (at, sz) = section.file_range()?;
        let range = section.address()..section.address() + section.size();
        Some((range, &map[at as usize..(at + sz) as usize]))
    };
    let (eh_frame, eh_frame_hdr) = (part(".eh_frame"), part(".eh_frame_hdr"));
    let mut info = ExplicitModuleSectionInfo::<Part> {
        text_svma: part(".text").map(|p| p.0),
        ..Default::default()
    };
    if let Some((range, bytes)) = eh_frame {
        (info.eh_frame_svma, info.eh_frame) = (Some(range), Some(bytes));
    }
    if let Some((range, bytes)) = eh_frame_hdr {
        (info.eh_frame_hdr_svma, info.eh_frame_hdr) = (Some(range), Some(bytes));
    }
    Some(Module::new(path.to_string(), start..end, bias, info))
}

/// # Safety
/// `path` is NUL-terminated.
#[no_mangle]
pub unsafe extern "C" fn framehop_add(
    p: &mut UnwinderX86_64<Part>,
    path: *const c_char,
    start: u64,
    end: u64,
    offset: u64,
) {
    if let Some(module) = CStr::from_ptr(path).to_str().ok().and_then(|path| open(path, start, end, offset)) {
        p.add_module(module);
    }
}

/// # Safety
/// `stack` has `sz` bytes, `pcs` has room for `max`.
#[no_mangle]
pub unsafe extern "C" fn framehop_walk(
    p: &mut UnwinderX86_64<Part>,
    cache: &mut CacheX86_64,
    walk: &Walk,
    pcs: *mut u64,
    max: usize,
) -> usize {
    let stack = std::slice::from_raw_parts(walk.stack, walk.sz as usize);
    let mut read = |addr: u64| {
        let at = addr.wrapping_sub(walk.addr) as usize;
        let word = stack.get(at..at.wrapping_add(8)).ok_or(())?;
        Ok(u64::from_ne_bytes(word.try_into().map_err(|_| ())?))
    };
    let regs = UnwindRegsX86_64::new(walk.pc, walk.sp, walk.fp);
    let mut iter = p.iter_frames(walk.pc, regs, cache, &mut read);
    let mut cnt = 0;
    while cnt < max {
        match iter.next() {
            Ok(Some(frame)) => *pcs.add(cnt) = frame.address(),
            _ => break,
        }
        cnt += 1;
    }
    cnt
}

#[repr(C)]
pub struct Walk {
    pc: u64,
    sp: u64,
    fp: u64,
    addr: u64,
    sz: u64,
    stack: *const u8,
}
