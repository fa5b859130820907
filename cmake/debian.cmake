# SPDX-License-Identifier: Apache-2.0
# Run by cpack on what is to be packed: copyright, changelog and manual pages as Debian's policy has them.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP year "%Y" UTC)
file(GLOB components LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*)
foreach(component ${components})
  get_filename_component(name ${component} NAME)
  set(doc ${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc)
  if(NOT name STREQUAL CPACK_PACKAGE_NAME)  # all others depend on that one in their own version
    file(MAKE_DIRECTORY ${doc})
    file(CREATE_LINK ${CPACK_PACKAGE_NAME} ${doc}/${name} SYMBOLIC)
    continue()
  endif()
  file(WRITE ${doc}/${name}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Diecast
Comment: The binaries contain parts of the headers of Boost, Eigen, nlohmann_json, Random123 and xxHash; their licenses
 are in the copyright files of Debian's packages of these.

Files: *
Copyright: ${year} the authors of Diecast
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${doc}/${name}/changelog
"${name} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; see /usr/share/doc/${name}/CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
  file(GLOB manual ${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9n ${manual} ${doc}/${name}/changelog COMMAND_ERROR_IS_FATAL ANY)
endforeach()
